package main

import (
	"sync/atomic"
	"time"
)

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

// under runs a load several times, and returns the longest gap of each time.
func (g *gap) under(load func(), rounds int) []time.Duration {
	gaps := make([]time.Duration, 0, rounds)
	for range rounds {
		g.begin()
		load()
		gaps = append(gaps, g.end())
	}
	return gaps
}

// startVictim spawns a task that only yields, and writes down when.
func (b *background) startVictim(countsPolls bool) *gap {
	g := &gap{epoch: time.Now(), countsPolls: countsPolls}
	b.startYielders(1, g.polled)
	return g
}
