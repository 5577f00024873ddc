package main

import (
	"math/big"
	"runtime"
	"sync"
	"testing"
	"time"

	"palio/contenders/go/harness"
)

// each is an iteration whose work is its ops.
func each(answer, ops uint64) harness.Iteration {
	return harness.Iteration{Answer: answer, Ops: ops, Work: ops}
}

func TestSpawning(t *testing.T) {
	onThreads(t, func(t *testing.T) {
		for _, tasks := range []uint64{1, 2, 1000} {
			expect(t, "spawnMany", spawnMany(int(tasks)), each(tasks, tasks))
			expect(t, "spawnManyLocal", spawnManyLocal(int64(tasks), make(chan uint64, 1)), tasks)
			expect(t, "spawnManyRemote", spawnManyRemote(7, int(tasks)), each(7*tasks, 7*tasks))
			expect(t, "spawnYieldJoin", spawnYieldJoin(int(tasks)), each(2*tasks, tasks))
			expect(t, "spawnStorm", spawnStorm(3, int(tasks)), each(tasks, tasks))
			expect(t, "chainedSpawn", chainedSpawn(tasks), tasks)
			expect(t, "chainFromOutside", chainFromOutside(tasks, make(chan uint64, 1)), tasks)
			expect(t, "descend", onGoroutine(func() uint64 { return descend(tasks) }), tasks)
		}
		expect(t, "yieldMany", yieldMany(20, 30), 600)
		expect(t, "yieldManyFromOutside", yieldManyFromOutside(20, 30, make(chan uint64, 1)), 600)
		expect(t, "panics of none", panics(0), each(0, 0))
		expect(t, "panics of one", panics(1), each(1_000_000, 1))
		expect(t, "panics of five", panics(5), each(3_000_002, 5))
	})
}

func TestATaskThatReturnedNothingIsNotCounted(t *testing.T) {
	expect(t, "joinAll", joinAll(make([]joinHandle, 3)), each(0, 0))
}

func TestChannels(t *testing.T) {
	onThreads(t, func(t *testing.T) {
		pongs := make(chan harness.Iteration, 1)
		expect(t, "pingPong", pingPong(50, pongs), harness.Iteration{Answer: 1225, Ops: 50, Work: 100})
		expect(t, "pingPongOneshot", pingPongOneshot(50), each(1225, 50))
		expect(t, "requestReply", served(50), each(1275, 50))
		expect(t, "mpscContention", mpscContention(4, 25), each(4950, 100))
		expect(t, "mpscCounted", mpscCounted(4, 25), each(4950, 100))
		expect(t, "uncontendedChannel", uncontendedChannel(100), each(4950, 100))
		expect(t, "sendThenReceive", sendThenReceive(100), each(4950, 100))
		for _, buffer := range []int{1, 7, 1000} {
			expect(t, "fanInReaderFirst", fanInReaderFirst(100, buffer), each(4950, 100))
			expect(t, "fanInReaderLast", fanInReaderLast(100, buffer), each(4950, 100))
		}
	})
}

func TestSemaphoresAndNotifications(t *testing.T) {
	onThreads(t, func(t *testing.T) {
		for _, permits := range []int{1, 5, 10} {
			expect(t, "acquireAndRelease", acquireAndRelease(make(chan struct{}, permits), 6), each(6, 6))
		}
		for _, number := range []int{1, 7} {
			all := startWaiters(number)
			expect(t, "Signal", all.wake(50, (*sync.Cond).Signal), each(50, 50))
			expect(t, "Broadcast", all.wake(50, (*sync.Cond).Broadcast), each(50, 50))
			all.stop()
		}
	})
}

// served has a server for one iteration.
func served(requests uint64) harness.Iteration {
	questions := make(chan question, requestsRoom)
	defer close(questions)
	go serve(questions)
	return requestReply(questions, requests)
}

func TestTheSaltEntersEveryValue(t *testing.T) {
	with := uint64(1<<63 + 11)
	defer seasoned(with)()
	onThreads(t, func(t *testing.T) {
		for _, n := range []uint64{1, 10, 100} {
			numbers := each(n*(n-1)/2+n*with, n)
			expect(t, "spawnManyRemote", spawnManyRemote(1, int(n)), each(n*(1+with), n))
			expect(t, "spawnYieldJoin", spawnYieldJoin(int(n)), each(n*(2+with), n))
			expect(t, "pingPongOneshot", pingPongOneshot(n), numbers)
			pongs := make(chan harness.Iteration, 1)
			expect(t, "pingPong", pingPong(int64(n), pongs), harness.Iteration{Answer: numbers.Answer, Ops: n, Work: 2 * n})
			expect(t, "requestReply", served(n), each(numbers.Answer+n, n))
			expect(t, "mpscContention", mpscContention(1, n), numbers)
			expect(t, "mpscCounted", mpscCounted(1, n), numbers)
			expect(t, "uncontendedChannel", uncontendedChannel(n), numbers)
			expect(t, "sendThenReceive", sendThenReceive(n), numbers)
			expect(t, "fanInReaderFirst", fanInReaderFirst(int(n), 2), numbers)
			expect(t, "fanInReaderLast", fanInReaderLast(int(n), 2), numbers)
			expect(t, "chainedSpawn", chainedSpawn(n), n+with)
			expect(t, "chainFromOutside", chainFromOutside(n, make(chan uint64, 1)), n+with)
			expect(t, "descend", descend(n), n+with)
		}
		expect(t, "panics", panics(5), each(3_000_002+3*with, 5))
	})
}

func TestPrimes(t *testing.T) {
	onThreads(t, func(t *testing.T) {
		for _, limit := range []uint64{0, 1, 2, 3, 4, 5, 10, 26, 1000} {
			var weighed uint64
			for n := range limit {
				// Exact for numbers of 64 bits.
				if new(big.Int).SetUint64(n).ProbablyPrime(0) {
					weighed += harness.Mix(salt, n)
				}
			}
			for _, tasks := range []int{1, 3, 64} {
				expect(t, "primes", primes(limit, tasks), each(weighed, uint64(tasks)))
			}
		}
	})
}

func TestTimers(t *testing.T) {
	onThreads(t, func(t *testing.T) {
		// 6, 6 and 1 ms, worked out apart from this code.
		expect(t, "manyTimers", manyTimers(3), each(13, 3))
		expect(t, "timeouts", timeouts(100), 100)
		expect(t, "droppedSleeps", droppedSleeps(100), 100)
	})
}

func TestTheBackgroundGoesOnUntilItIsStopped(t *testing.T) {
	onThreads(t, func(t *testing.T) {
		for _, start := range []func(*background, int, func()){(*background).startYielders, (*background).startChains} {
			rounds := make(chan struct{})
			beside := &background{}
			start(beside, 3, func() {
				select {
				case rounds <- struct{}{}:
				default:
				}
				runtime.Gosched()
			})
			for range 10 {
				<-rounds
			}
			// Hangs if one of them does not end.
			beside.stop()
		}
	})
}

func TestAStallLasts(t *testing.T) {
	start := time.Now()
	stall()
	if elapsed := time.Since(start); elapsed < 10*time.Microsecond {
		t.Errorf("it lasted %v", elapsed)
	}
}

func TestAWorkloadForOneThreadRefusesTwo(t *testing.T) {
	prepare := onOneThread(func(*harness.Request) (harness.Work, error) { return harness.Work{}, nil })
	if _, err := prepare(&harness.Request{Threads: 1}); err != nil {
		t.Error(err)
	}
	if _, err := prepare(&harness.Request{Threads: 2}); err == nil {
		t.Error("two were taken")
	}
}

func TestTCPPingPong(t *testing.T) {
	// The bytes of one connection, by the definition: the accepting side reads k, 2k, …, and the
	// connecting side 0, k, 2k, …
	sum := func(connections, roundTrips int) uint64 {
		var all uint64
		for i := range connections {
			key, last := byte(harness.Mix(salt, uint64(i))|1), byte(0)
			for range roundTrips {
				all += uint64(last)
				last += key
				all += uint64(last)
			}
		}
		return all
	}
	for _, connections := range []int{1, 7} {
		for _, roundTrips := range []int{0, 1, 300} {
			trips := uint64(connections * roundTrips)
			want := harness.Iteration{Answer: sum(connections, roundTrips), Ops: trips, Work: 2 * trips}
			expect(t, "tcpPingPong", tcpPingPong(connections, roundTrips), want)
		}
	}
}

func TestSpawnOne(t *testing.T) {
	row := &spawnedOnes{tasks: 1000, ended: make(chan struct{}, 1)}
	for range 2 {
		row.Prepare()
		row.Run()
		expect(t, "spawnOne", row.Finish(), each(1000*(salt+1), 1000))
	}
}
