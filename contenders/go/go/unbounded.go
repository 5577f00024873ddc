package main

import (
	"sync"

	"palio/contenders/go/harness"
)

// Go has no unbounded channel. In this file each channel has room for all messages, which is what
// an unbounded one promises: no sender ever waits.

// prepareMpscContention is the row in which the consumer receives until all have hung up.
func prepareMpscContention(request *harness.Request) (harness.Work, error) {
	return prepareProducers(request, rootEach, mpscContention)
}

// prepareMpscCounted is the row in which it knows how many messages there are.
func prepareMpscCounted(root rooting) harness.Prepare {
	return func(request *harness.Request) (harness.Work, error) {
		return prepareProducers(request, root, mpscCounted)
	}
}

func prepareProducers(
	request *harness.Request,
	root rooting,
	run func(producers, messages uint64) harness.Iteration,
) (harness.Work, error) {
	producers, err := request.Between("producers", 1, countMax)
	if err != nil {
		return harness.Work{}, err
	}
	messages, err := request.Between("messages", 1, countMax)
	if err != nil {
		return harness.Work{}, err
	}
	if producers*messages > countMax {
		return harness.Work{}, harness.Misuse("--set messages=%d are too many for producers=%d", messages, producers)
	}
	return root(func() harness.Iteration { return run(producers, messages) }), startScheduler(request)
}

func mpscContention(producers, messages uint64) harness.Iteration {
	values := make(chan uint64, producers*messages)
	var sending sync.WaitGroup
	sending.Add(int(producers))
	for producer := range producers {
		go func() {
			for message := range messages {
				values <- salt + producer*messages + message
			}
			sending.Done()
		}()
	}
	// A channel is closed once, not by each of its senders: somebody must wait for them all while
	// others receive.
	go func() {
		sending.Wait()
		close(values)
	}()
	return receiveAll(values)
}

func mpscCounted(producers, messages uint64) harness.Iteration {
	values := make(chan uint64, producers*messages)
	for producer := range producers {
		go func() {
			for message := range messages {
				values <- salt + producer*messages + message
			}
		}()
	}
	return receive(values, int(producers*messages))
}

func prepareUncontendedChannel(request *harness.Request) (harness.Work, error) {
	messages, err := request.Between("messages", 1, countMax)
	if err != nil {
		return harness.Work{}, err
	}
	return rootEach(func() harness.Iteration { return uncontendedChannel(messages) }), startScheduler(request)
}

func uncontendedChannel(messages uint64) harness.Iteration {
	values := make(chan uint64, messages)
	go func() {
		for message := range messages {
			values <- salt + message
		}
		close(values)
	}()
	received := make(chan harness.Iteration, 1)
	go func() { received <- receiveAll(values) }()
	return <-received
}

func prepareSendThenReceive(root rooting) harness.Prepare {
	return func(request *harness.Request) (harness.Work, error) {
		messages, err := request.Between("messages", 1, countMax)
		if err != nil {
			return harness.Work{}, err
		}
		return root(func() harness.Iteration { return sendThenReceive(messages) }), startScheduler(request)
	}
}

func sendThenReceive(messages uint64) harness.Iteration {
	values := make(chan uint64, messages)
	for message := range messages {
		values <- salt + message
	}
	return receive(values, int(messages))
}

// receiveAll sums values until the channel is closed.
func receiveAll(values <-chan uint64) harness.Iteration {
	var all harness.Iteration
	for value := range values {
		all.Answer += value
		all.Work++
	}
	all.Ops = all.Work
	return all
}
