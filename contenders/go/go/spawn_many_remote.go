package main

import (
	"sync"

	"palio/contenders/go/harness"
)

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
		return onGoroutine(func() harness.Iteration { return spawnManyRemote(int(spawners), int(tasks/spawners)) })
	}), startScheduler(request)
}

// spawnManyRemote is the root; only the tasks that return something count, not their spawners.
func spawnManyRemote(spawners, tasksEach int) harness.Iteration {
	var done sync.WaitGroup
	joined := make([]harness.Iteration, spawners)
	done.Add(spawners)
	for i := range joined {
		go func() {
			joined[i] = joinAll(spawnAll(tasksEach, func() uint64 { return 1 + salt }))
			done.Done()
		}()
	}
	done.Wait()
	var all harness.Iteration
	for _, part := range joined {
		all.Answer += part.Answer
		all.Work += part.Work
	}
	all.Ops = all.Work
	return all
}
