package main

import "palio/contenders/go/harness"

func prepareDeepRecursion(request *harness.Request) (harness.Work, error) {
	depth, err := request.Between("depth", 1, countMax)
	if err != nil {
		return harness.Work{}, err
	}
	return harness.Plain(func() harness.Iteration {
		count := onGoroutine(func() uint64 { return descend(depth) })
		calls := count - salt
		return harness.Iteration{Answer: count, Ops: calls, Work: calls}
	}), startScheduler(request)
}

// descend counts its own calls on the way up, from the salt, so that no call is the last thing its
// caller does. Go makes no loops of calls anyway.
//
//go:noinline
func descend(depth uint64) uint64 {
	if depth == 1 {
		return salt + 1
	}
	return descend(depth-1) + 1
}
