package main

import (
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// background is what runs beside the work: tasks that go on until they are told to stop.
type background struct {
	stopped atomic.Bool
	running sync.WaitGroup
}

// startYielders spawns tasks that yield in a loop, and do something between two yields.
func (b *background) startYielders(count int, between func()) {
	b.running.Add(count)
	for range count {
		go func() {
			for !b.stopped.Load() {
				runtime.Gosched()
				between()
			}
			b.running.Done()
		}()
	}
}

// startChains spawns the first links of chains in which each link does something, spawns the next
// and ends.
func (b *background) startChains(count int, each func()) {
	b.running.Add(count)
	for range count {
		go b.link(each)
	}
}

func (b *background) link(each func()) {
	if b.stopped.Load() {
		b.running.Done()
		return
	}
	each()
	go b.link(each)
}

// stop returns when the last of them has ended.
func (b *background) stop() {
	b.stopped.Store(true)
	b.running.Wait()
}

func nothing() {}

// stall holds a worker without the scheduler's knowledge, and gives the processor to other threads
// again and again.
func stall() {
	for start := time.Now(); time.Since(start) < 10*time.Microsecond; {
		// Raw: the scheduler is not told of the call.
		_, _, _ = syscall.RawSyscall(syscall.SYS_SCHED_YIELD, 0, 0, 0)
	}
}
