package main

import "palio/contenders/go/harness"

func prepareChainedSpawn(request *harness.Request) (harness.Work, error) {
	depth, err := request.Between("depth", 1, countMax)
	if err != nil {
		return harness.Work{}, err
	}
	return harness.Plain(func() harness.Iteration {
		links := onGoroutine(func() uint64 { return chainedSpawn(depth) })
		return harness.Iteration{Answer: links, Ops: links, Work: links}
	}), startScheduler(request)
}

func chainedSpawn(depth uint64) uint64 {
	end := make(chan uint64, 1)
	go link(end, 0, depth)
	return <-end
}

// link adds itself to the count so far, then either goes on or ends the chain.
func link(end chan<- uint64, before, depth uint64) {
	count := before + 1
	if count == depth {
		end <- count
		return
	}
	go link(end, count, depth)
}
