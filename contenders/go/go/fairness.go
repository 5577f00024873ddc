package main

import (
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"palio/contenders/go/harness"
)

// The suite fairness. Go has no thread outside its scheduler; a goroutine that is locked to a
// thread of its own stands for it, as the nearest that a Go program has.

// outside runs work on a goroutine with a thread of its own, and waits.
func outside[T any](work func() T) T {
	return onGoroutine(func() T {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		return work()
	})
}

// spinFor keeps a worker busy without the scheduler's knowledge.
func spinFor(duration time.Duration) {
	for start := time.Now(); time.Since(start) < duration; {
	}
}

// startPolls spawns tasks that spin and yield; a spin of zero only yields.
func (b *background) startPolls(count int, poll time.Duration) {
	b.startYielders(count, func() {
		if poll > 0 {
			spinFor(poll)
		}
	})
}

// bell passes a moment to the one goroutine that waits for it. A channel without a buffer, since a
// send that does not wait succeeds only when the receiver is parked.
type bell chan time.Time

// tryRing rings if the goroutine sleeps.
func (b bell) tryRing() bool {
	select {
	case b <- time.Now():
		return true
	default:
		return false
	}
}

// ring yields until the goroutine sleeps.
func (b bell) ring() {
	for !b.tryRing() {
		runtime.Gosched()
	}
}

func (b bell) heard() time.Time { return <-b }

// numbers reads several parameters at once, in their order.
func numbers(request *harness.Request, keys ...string) ([]int, error) {
	values := make([]int, len(keys))
	for i, key := range keys {
		value, err := request.Between(key, 0, countMax)
		if err != nil {
			return nil, err
		}
		values[i] = int(value)
	}
	return values, nil
}

func micros(number int) time.Duration { return time.Duration(number) * time.Microsecond }

// measured turns a function that returns what its events took into work.
func measured(events func() []time.Duration) harness.Work {
	return harness.Measured(func(sum *harness.Events) harness.Iteration {
		took := events()
		for _, event := range took {
			sum.Add(event)
		}
		count := uint64(len(took))
		return harness.Iteration{Answer: count, Ops: count, Work: count}
	})
}

func prepareWakeLatency(request *harness.Request) (harness.Work, error) {
	n, err := numbers(request, "busy", "events", "poll_us")
	if err != nil {
		return harness.Work{}, err
	}
	from, err := request.OneOf("from", "task", "thread")
	if err != nil {
		return harness.Work{}, err
	}
	if err := startScheduler(request); err != nil {
		return harness.Work{}, err
	}
	others, events, poll := n[0]*request.Threads, n[1], micros(n[2])
	if from == "task" {
		// The waker is one of the busy tasks.
		others = max(others-1, 0)
	}
	beside := &background{}
	beside.startPolls(others, poll)
	return measured(func() []time.Duration {
		if from == "task" {
			return onGoroutine(func() []time.Duration { return wakeFromTask(events, poll) })
		}
		return outside(func() []time.Duration { return wakeFromThread(events) })
	}).StoppedBy(beside.stop), nil
}

// sleeper is woken so many times; ready, if there is one, hears that it is about to wait.
func sleeper(b bell, events int, ready chan<- struct{}) <-chan []time.Duration {
	result := make(chan []time.Duration, 1)
	go func() {
		latencies := make([]time.Duration, 0, events)
		for range events {
			if ready != nil {
				ready <- struct{}{}
			}
			rung := b.heard()
			latencies = append(latencies, time.Since(rung))
		}
		result <- latencies
	}()
	return result
}

func wakeFromTask(events int, poll time.Duration) []time.Duration {
	b := make(bell)
	result := sleeper(b, events, nil)
	for rung := 0; rung < events; {
		if b.tryRing() {
			rung++
		}
		spinFor(poll)
		runtime.Gosched()
	}
	return <-result
}

func wakeFromThread(events int) []time.Duration {
	b, ready := make(bell), make(chan struct{}, 1)
	result := sleeper(b, events, ready)
	for range events {
		<-ready
		// It has said so a few instructions before it is parked.
		b.ring()
	}
	return <-result
}

func prepareInjectedLatency(request *harness.Request) (harness.Work, error) {
	n, err := numbers(request, "busy", "events", "poll_us")
	if err != nil {
		return harness.Work{}, err
	}
	if err := startScheduler(request); err != nil {
		return harness.Work{}, err
	}
	beside := &background{}
	beside.startPolls(n[0]*request.Threads, micros(n[2]))
	return measured(func() []time.Duration {
		return outside(func() []time.Duration {
			latencies := make([]time.Duration, 0, n[1])
			polled := make(chan time.Duration, 1)
			for range n[1] {
				spawned := time.Now()
				go func() { polled <- time.Since(spawned) }()
				latencies = append(latencies, <-polled)
			}
			return latencies
		})
	}).StoppedBy(beside.stop), nil
}

// gap is the longest gap between two polls of a victim, in ns, or in polls of others.
type gap struct {
	epoch         time.Time
	countsPolls   bool
	polls         atomic.Int64
	last, longest atomic.Int64
}

func (g *gap) now() int64 {
	if g.countsPolls {
		return g.polls.Load()
	}
	return time.Since(g.epoch).Nanoseconds()
}

// otherPolled counts a goroutine that is not the victim and goes on after it waited.
func (g *gap) otherPolled() {
	if g.countsPolls {
		g.polls.Add(1)
	}
}

func (g *gap) polled() {
	now := g.now()
	g.keep(now - g.last.Swap(now))
}

func (g *gap) keep(long int64) {
	for {
		longest := g.longest.Load()
		if long <= longest || g.longest.CompareAndSwap(longest, long) {
			return
		}
	}
}

// begin starts a round: the gap that is open now counts from here.
func (g *gap) begin() {
	g.last.Store(g.now())
	g.longest.Store(0)
}

// end is the longest gap of the round, the one that is still open included.
func (g *gap) end() time.Duration {
	return time.Duration(max(g.longest.Load(), g.now()-g.last.Load()))
}

// endWhenPolled waits for the open gap to close, a second at most.
func (g *gap) endWhenPolled() time.Duration {
	start := time.Now()
	for ended := g.now(); g.last.Load() < ended && time.Since(start) < time.Second; {
		sleepThread(200 * time.Microsecond)
	}
	if g.countsPolls {
		return g.end()
	}
	return min(g.end(), time.Second)
}

// startVictim spawns a task that only yields, and writes down when.
func (b *background) startVictim(countsPolls bool) *gap {
	g := &gap{epoch: time.Now(), countsPolls: countsPolls}
	b.startYielders(1, g.polled)
	return g
}

// sleepThread sleeps in the operating system, not on one of Go's timers.
func sleepThread(duration time.Duration) {
	left := syscall.NsecToTimespec(duration.Nanoseconds())
	for syscall.Nanosleep(&left, &left) == syscall.EINTR {
	}
}

func prepareFloodGap(request *harness.Request) (harness.Work, error) {
	n, err := numbers(request, "rounds", "tasks", "backlog", "poll_us")
	if err != nil {
		return harness.Work{}, err
	}
	if err := startScheduler(request); err != nil {
		return harness.Work{}, err
	}
	beside := &background{}
	victim := beside.startVictim(false)
	return measured(func() []time.Duration {
		return outside(func() []time.Duration {
			gaps := make([]time.Duration, 0, n[0])
			for range n[0] {
				victim.begin()
				pour(n[1], max(n[2], 2), micros(n[3]))
				gaps = append(gaps, victim.end())
			}
			return gaps
		})
	}).StoppedBy(beside.stop), nil
}

// pour spawns tasks until so many are not done, and goes on when half of them are left.
func pour(tasks, backlog int, poll time.Duration) {
	var waiting atomic.Int64
	half := make(chan struct{}, 1)
	for spawned := 0; spawned < tasks; {
		for spawned < tasks && waiting.Load() < int64(backlog) {
			waiting.Add(1)
			spawned++
			go func() {
				spinFor(poll)
				if left := waiting.Add(-1); left == int64(backlog/2) || left == 0 {
					select {
					case half <- struct{}{}:
					default:
					}
				}
			}()
		}
		if spawned < tasks {
			<-half
		}
	}
	for waiting.Load() > 0 {
		<-half
	}
}

func prepareTimerLateness(request *harness.Request) (harness.Work, error) {
	n, err := numbers(request, "sleepers", "sleeps", "poll_us")
	if err != nil {
		return harness.Work{}, err
	}
	busy, err := request.OneOf("busy", "one", "each")
	if err != nil {
		return harness.Work{}, err
	}
	if err := startScheduler(request); err != nil {
		return harness.Work{}, err
	}
	others := 1
	if busy == "each" {
		others = request.Threads
	}
	beside := &background{}
	beside.startPolls(others, micros(n[2]))
	return measured(func() []time.Duration {
		return onGoroutine(func() []time.Duration { return sleepAll(n[0], n[1]) })
	}).StoppedBy(beside.stop), nil
}

func sleepAll(sleepers, sleeps int) []time.Duration {
	late := make([]time.Duration, sleepers*sleeps)
	var done sync.WaitGroup
	done.Add(sleepers)
	for i := range sleepers {
		go func() {
			for k := range sleeps {
				length := time.Duration(1+splitmix64(uint64(i)<<32|uint64(k))%4) * time.Millisecond
				start := time.Now()
				time.Sleep(length)
				late[i*sleeps+k] = max(time.Since(start)-length, 0)
			}
			done.Done()
		}()
	}
	done.Wait()
	return late
}

func prepareSpawnBlockingBlocks(request *harness.Request) (harness.Work, error) {
	n, err := numbers(request, "batches", "closures", "block_us")
	if err != nil {
		return harness.Work{}, err
	}
	closure, err := request.OneOf("closure", "sleep", "rendezvous")
	if err != nil {
		return harness.Work{}, err
	}
	if closure == "rendezvous" {
		return harness.Work{}, harness.Unsupported("a goroutine at a barrier blocks no thread, so it needs no second one")
	}
	return harness.Plain(func() harness.Iteration {
		return onGoroutine(func() (all harness.Iteration) {
			for range n[0] {
				joined := blockAll(n[1], micros(n[2]))
				all.Answer, all.Ops, all.Work = all.Answer+joined, all.Ops+joined, all.Work+joined
			}
			return all
		})
	}), startScheduler(request)
}

// blockAll runs so many goroutines that block in a system call: Go's way is to let them.
func blockAll(closures int, block time.Duration) uint64 {
	var returned atomic.Uint64
	var done sync.WaitGroup
	done.Add(closures)
	for range closures {
		go func() {
			sleepThread(block)
			returned.Add(1)
			done.Done()
		}()
	}
	done.Wait()
	return returned.Load()
}

func prepareSpawnBlockingBeside(request *harness.Request) (harness.Work, error) {
	n, err := numbers(request, "batches", "closures", "block_us")
	if err != nil {
		return harness.Work{}, err
	}
	if err := startScheduler(request); err != nil {
		return harness.Work{}, err
	}
	beside := &background{}
	victim := beside.startVictim(false)
	return measured(func() []time.Duration {
		return onGoroutine(func() []time.Duration {
			gaps := make([]time.Duration, 0, n[0])
			for range n[0] {
				victim.begin()
				blockAll(n[1], micros(n[2]))
				gaps = append(gaps, victim.end())
			}
			return gaps
		})
	}).StoppedBy(beside.stop), nil
}

func prepareBlockInPlace(request *harness.Request) (harness.Work, error) {
	n, err := numbers(request, "events", "block_us")
	if err != nil {
		return harness.Work{}, err
	}
	closure, err := request.OneOf("closure", "blocks", "empty")
	if err != nil {
		return harness.Work{}, err
	}
	if closure == "empty" {
		return harness.Work{}, harness.Unsupported("Go has no call that says that a goroutine is about to block")
	}
	if err := startScheduler(request); err != nil {
		return harness.Work{}, err
	}
	pairs := request.Threads
	return measured(func() []time.Duration {
		return onGoroutine(func() []time.Duration { return blockInPairs(pairs, n[0], micros(n[1])) })
	}), nil
}

func blockInPairs(pairs, events int, block time.Duration) []time.Duration {
	var left atomic.Int64
	left.Store(int64(events))
	results := make(chan []time.Duration, pairs)
	for range pairs {
		go func() { results <- blocker(&left, block) }()
	}
	latencies := make([]time.Duration, 0, events)
	for range pairs {
		latencies = append(latencies, <-results...)
	}
	return latencies
}

func blocker(left *atomic.Int64, block time.Duration) []time.Duration {
	wake, answer := make(bell), make(chan time.Duration, 1)
	ended := false
	go func() {
		for {
			rung := wake.heard()
			latency := time.Since(rung)
			if ended {
				close(answer)
				return
			}
			answer <- latency
		}
	}()
	var latencies []time.Duration
	for left.Add(-1) >= 0 {
		wake.ring()
		sleepThread(block)
		latencies = append(latencies, <-answer)
	}
	ended = true
	wake.ring()
	<-answer
	return latencies
}
