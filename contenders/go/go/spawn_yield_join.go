package main

import (
	"runtime"

	"palio/contenders/go/harness"
)

func prepareSpawnYieldJoin(request *harness.Request) (harness.Work, error) {
	tasks, err := request.Between("tasks", 0, countMax)
	if err != nil {
		return harness.Work{}, err
	}
	return harness.Plain(func() harness.Iteration {
		return onGoroutine(func() harness.Iteration { return spawnYieldJoin(int(tasks)) })
	}), startScheduler(request)
}

func spawnYieldJoin(tasks int) harness.Iteration {
	return joinAll(spawnAll(tasks, func() uint64 {
		runtime.Gosched()
		return 2 + salt
	}))
}
