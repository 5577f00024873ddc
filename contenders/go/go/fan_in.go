package main

import "palio/contenders/go/harness"

func prepareFanIn(request *harness.Request) (harness.Work, error) {
	senders, err := request.Between("senders", 0, countMax)
	if err != nil {
		return harness.Work{}, err
	}
	buffer, err := request.Between("buffer", 1, countMax)
	if err != nil {
		return harness.Work{}, err
	}
	reader, err := request.OneOf("reader", "first", "last")
	if err != nil {
		return harness.Work{}, err
	}
	fanIn := fanInReaderFirst
	if reader == "last" {
		fanIn = fanInReaderLast
	}
	// As in the document, whose benchmark is one goroutine for all iterations.
	return rootInOne(func() harness.Iteration {
		return fanIn(int(senders), int(buffer))
	}), startScheduler(request)
}

func fanInReaderFirst(senders, buffer int) harness.Iteration {
	values := make(chan uint64, buffer)
	received := make(chan harness.Iteration, 1)
	go func() { received <- receive(values, senders) }()
	spawnSenders(values, senders)
	return <-received
}

func fanInReaderLast(senders, buffer int) harness.Iteration {
	values := make(chan uint64, buffer)
	spawnSenders(values, senders)
	return receive(values, senders)
}

func spawnSenders(values chan<- uint64, senders int) {
	for i := range senders {
		go func() { values <- salt + uint64(i) }()
	}
}

// receive sums so many values; nobody closes the channel, the last value is the end.
func receive(values <-chan uint64, senders int) harness.Iteration {
	var all harness.Iteration
	for range senders {
		all.Answer += <-values
		all.Work++
	}
	all.Ops = all.Work
	return all
}
