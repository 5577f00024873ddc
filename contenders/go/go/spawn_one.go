package main

import (
	"sync/atomic"

	"palio/contenders/go/harness"
)

// spawnedOnes is the row spawn_one: what is timed is who spawns, not what is spawned.
type spawnedOnes struct {
	tasks int
	sum   atomic.Uint64
	count atomic.Uint64
	// ended gets one value when the last task of an iteration has ended.
	ended chan struct{}
}

func prepareSpawnOne(request *harness.Request) (harness.Work, error) {
	tasks, err := request.Between("tasks", 1, countMax)
	if err != nil {
		return harness.Work{}, err
	}
	from, err := request.OneOf("from", "worker", "outside")
	if err != nil {
		return harness.Work{}, err
	}
	if from == "outside" {
		return harness.Work{}, harness.Unsupported("Go has no thread that is no worker and spawns")
	}
	return harness.Staged(&spawnedOnes{tasks: int(tasks), ended: make(chan struct{}, 1)}), startScheduler(request)
}

func (s *spawnedOnes) Prepare() {
	s.sum.Store(0)
	s.count.Store(0)
}

func (s *spawnedOnes) Run() {
	onGoroutine(func() struct{} {
		for range s.tasks {
			go s.one()
		}
		return struct{}{}
	})
}

func (s *spawnedOnes) one() {
	s.sum.Add(salt + 1)
	if s.count.Add(1) == uint64(s.tasks) {
		s.ended <- struct{}{}
	}
}

func (s *spawnedOnes) Finish() harness.Iteration {
	<-s.ended
	return harness.Iteration{Answer: s.sum.Load(), Ops: s.count.Load(), Work: s.count.Load()}
}
