package main

import (
	"sync"
	"sync/atomic"

	"palio/contenders/go/harness"
)

// waiters wait on a condition variable, which is what Go has for waking without a value.
type waiters struct {
	lock sync.Mutex
	cond sync.Cond
	// stopped is protected by the lock.
	stopped bool
	woken   atomic.Uint64
	running sync.WaitGroup
}

func prepareNotifyOne(request *harness.Request) (harness.Work, error) {
	return prepareNotify(request, (*sync.Cond).Signal)
}

func prepareNotifyWaiters(request *harness.Request) (harness.Work, error) {
	return prepareNotify(request, (*sync.Cond).Broadcast)
}

func prepareNotify(request *harness.Request, notify func(*sync.Cond)) (harness.Work, error) {
	number, err := request.Between("waiters", 1, countMax)
	if err != nil {
		return harness.Work{}, err
	}
	wakeups, err := request.Between("wakeups", 0, countMax)
	if err != nil {
		return harness.Work{}, err
	}
	if err := startScheduler(request); err != nil {
		return harness.Work{}, err
	}
	all := startWaiters(int(number))
	return harness.Plain(func() harness.Iteration { return all.wake(wakeups, notify) }).StoppedBy(all.stop), nil
}

func startWaiters(number int) *waiters {
	all := &waiters{}
	all.cond.L = &all.lock
	all.running.Add(number)
	for range number {
		go all.wait()
	}
	return all
}

func (all *waiters) wait() {
	defer all.running.Done()
	all.lock.Lock()
	defer all.lock.Unlock()
	// Looked at before each wait: the last call does not reach those who come later.
	for !all.stopped {
		all.cond.Wait()
		all.woken.Add(1)
	}
}

// wake calls until so many wake-ups were counted.
func (all *waiters) wake(wakeups uint64, notify func(*sync.Cond)) harness.Iteration {
	all.woken.Store(0)
	for {
		notify(&all.cond)
		if all.woken.Load() >= wakeups {
			credited := min(all.woken.Load(), wakeups)
			return harness.Iteration{Answer: credited, Ops: credited, Work: credited}
		}
	}
}

// stop lets all of them end.
func (all *waiters) stop() {
	all.lock.Lock()
	all.stopped = true
	all.cond.Broadcast()
	all.lock.Unlock()
	all.running.Wait()
}
