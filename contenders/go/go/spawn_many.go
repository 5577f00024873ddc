package main

import "palio/contenders/go/harness"

func prepareSpawnManyRemoteIdle(request *harness.Request) (harness.Work, error) {
	tasks, err := request.Between("tasks", 0, countMax)
	if err != nil {
		return harness.Work{}, err
	}
	// On the harness's own goroutine: Go has no thread outside the scheduler to spawn from.
	return harness.Plain(func() harness.Iteration { return spawnMany(int(tasks)) }), startScheduler(request)
}

func prepareSpawnManyOnOneThread(request *harness.Request) (harness.Work, error) {
	tasks, err := request.Between("tasks", 0, countMax)
	if err != nil {
		return harness.Work{}, err
	}
	return harness.Plain(func() harness.Iteration {
		return onGoroutine(func() harness.Iteration { return spawnMany(int(tasks)) })
	}), startScheduler(request)
}

func prepareSpawnManyBesideAChain(request *harness.Request) (harness.Work, error) {
	work, err := prepareSpawnManyOnOneThread(request)
	if err != nil {
		return harness.Work{}, err
	}
	beside := &background{}
	beside.startChains(1, nothing)
	return work.StoppedBy(beside.stop), nil
}

func prepareSpawnManyRemoteBusy1(request *harness.Request) (harness.Work, error) {
	busy, tasks, err := busyAndTasks(request)
	if err != nil {
		return harness.Work{}, err
	}
	if err := startScheduler(request); err != nil {
		return harness.Work{}, err
	}
	beside := &background{}
	beside.startYielders(busy, stall)
	return harness.Plain(func() harness.Iteration {
		return onGoroutine(func() harness.Iteration { return spawnMany(tasks) })
	}).StoppedBy(beside.stop), nil
}

func prepareSpawnManyRemoteBusy2(request *harness.Request) (harness.Work, error) {
	busy, tasks, err := busyAndTasks(request)
	if err != nil {
		return harness.Work{}, err
	}
	if err := startScheduler(request); err != nil {
		return harness.Work{}, err
	}
	beside := &background{}
	beside.startChains(busy, stall)
	// From outside again, as far as Go has an outside.
	return harness.Plain(func() harness.Iteration { return spawnMany(tasks) }).StoppedBy(beside.stop), nil
}

func prepareSpawnStormBusy(request *harness.Request) (harness.Work, error) {
	busy, tasks, err := busyAndTasks(request)
	if err != nil {
		return harness.Work{}, err
	}
	return harness.Plain(func() harness.Iteration {
		return onGoroutine(func() harness.Iteration { return spawnStorm(busy, tasks) })
	}), startScheduler(request)
}

func busyAndTasks(request *harness.Request) (busy, tasks int, err error) {
	some, err := request.Between("busy", 0, countMax)
	if err != nil {
		return 0, 0, err
	}
	many, err := request.Between("tasks", 0, countMax)
	return int(some), int(many), err
}

// spawnMany spawns tasks that do nothing, keeps their handles, and joins them.
func spawnMany(tasks int) harness.Iteration { return joinAll(spawnAll(tasks, one)) }

// one is an empty task, except for a result.
func one() uint64 { return 1 }

// spawnStorm starts and stops its own company.
func spawnStorm(busy, tasks int) harness.Iteration {
	var beside background
	beside.startYielders(busy, nothing)
	joined := spawnMany(tasks)
	beside.stop()
	return joined
}
