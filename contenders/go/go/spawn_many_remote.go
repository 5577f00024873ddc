package main

import "palio/contenders/go/harness"

func prepareSpawnManyRemote(request *harness.Request) (harness.Work, error) {
	spawners, err := request.Between("spawners", 1, countMax)
	if err != nil {
		return harness.Work{}, err
	}
	tasks, err := request.Between("tasks", 0, countMax)
	if err != nil {
		return harness.Work{}, err
	}
	if tasks%spawners != 0 {
		return harness.Work{}, harness.Misuse("--set tasks=%d is no multiple of spawners=%d", tasks, spawners)
	}
	return harness.Plain(func() harness.Iteration {
		returned := spawnManyRemote(int(spawners), int(tasks/spawners))
		return harness.Iteration{Answer: returned, Ops: returned, Work: returned}
	}), startScheduler(request)
}

// spawnManyRemote runs on the harness's own goroutine; only the tasks that return 1 count, not
// their spawners.
func spawnManyRemote(spawners, tasksEach int) uint64 {
	return joinAll(spawnAll(spawners, func() uint64 { return spawnMany(tasksEach).Answer })).Answer
}
