package main

import "palio/contenders/go/harness"

// prepareSemaphore is about a semaphore as Go's users make one: a channel with room for as many
// values as there are permits.
func prepareSemaphore(request *harness.Request) (harness.Work, error) {
	tasks, err := request.Between("tasks", 0, countMax)
	if err != nil {
		return harness.Work{}, err
	}
	permits, err := request.Between("permits", 1, countMax)
	if err != nil {
		return harness.Work{}, err
	}
	semaphore := make(chan struct{}, permits)
	return rootInOne(func() harness.Iteration {
		return acquireAndRelease(semaphore, int(tasks))
	}), startScheduler(request)
}

func acquireAndRelease(semaphore chan struct{}, tasks int) harness.Iteration {
	return joinAll(spawnAll(tasks, func() uint64 {
		semaphore <- struct{}{}
		<-semaphore
		return 1
	}))
}
