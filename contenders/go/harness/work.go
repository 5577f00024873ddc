package harness

import (
	"strconv"
	"time"
)

// Iteration is what one iteration did.
type Iteration struct {
	Answer uint64
	Ops    uint64
	Work   uint64
	// Uncounted says that Work means nothing, because counting would not be free.
	Uncounted bool
}

// Work is the work of one workload, ready to be iterated. It is exactly one of the first four and
// serve.
type Work struct {
	iterate func() Iteration
	stages  Stages
	measure func(*Events) Iteration
	// serve is an iteration that clients outside ask for, at port.
	serve func() Iteration
	port  int
	given *done
	// givenEvents belong to given.
	givenEvents []uint64
	// beside happens in every iteration of given.
	beside func()
	// forks counts the forks of the process, where it can.
	forks      func() uint64
	countForks bool
	stop       func()
}

// Stages is work that needs something done outside the clock before or after every iteration.
type Stages interface {
	// Prepare runs before every iteration, not timed.
	Prepare()
	// Run is the iteration, timed.
	Run()
	// Finish runs after every iteration, not timed: what it computed.
	Finish() Iteration
}

// Plain is work that is timed as a whole: one clock reading before a batch, one after it.
func Plain(iterate func() Iteration) Work { return Work{iterate: iterate} }

// Staged is work with untimed parts around every iteration.
func Staged(stages Stages) Work { return Work{stages: stages} }

// Measured is work that consists of events: every iteration adds what each of its events took. It
// is timed as a whole too.
func Measured(iterate func(*Events) Iteration) Work { return Work{measure: iterate} }

// Serving is work that clients outside of this process ask for, at this port of 127.0.0.1, where it
// listens already: every iteration accepts connections, serves them to their end, and returns.
func Serving(port int, iterate func() Iteration) Work { return Work{serve: iterate, port: port} }

// StoppedBy is for work that keeps something running between its samples: stop ends it after the
// last one.
func (w Work) StoppedBy(stop func()) Work {
	w.stop = stop
	return w
}

// CountedBy is for work whose forks are handed to a runtime: count gives all forks of the process
// so far. It is called only in a process that is there to count, whose times nobody looks at.
func (w Work) CountedBy(count func() uint64) Work {
	w.forks = count
	return w
}

// end is called once, when no sample will follow.
func (w *Work) end() {
	if w.stop != nil {
		w.stop()
	}
}

// sample takes one sample of batch iterations; say tells those outside where it is about to serve
// them.
func (w *Work) sample(batch uint32, say func(port int)) sample {
	var sums sums
	var events Events
	forksBefore := w.forksSoFar()
	before, known := cpuTime()
	switch {
	case w.iterate != nil:
		sums.elapsed = w.sampleWhole(batch, &sums)
	case w.stages != nil:
		for range batch {
			w.stages.Prepare()
			start := time.Now()
			w.stages.Run()
			sums.elapsed += time.Since(start)
			sums.add(w.stages.Finish().done(), 1)
		}
	case w.measure != nil:
		start := time.Now()
		for range batch {
			sums.add(w.measure(&events).done(), 1)
		}
		sums.elapsed = time.Since(start)
	case w.serve != nil:
		for range batch {
			say(w.port)
			start := time.Now()
			done := w.serve()
			sums.elapsed += time.Since(start)
			sums.add(done.done(), 1)
		}
	default:
		start := time.Now()
		for range batch {
			if w.beside != nil {
				w.beside()
			}
			sums.add(*w.given, 1)
			events.ns = append(events.ns, w.givenEvents...)
		}
		sums.elapsed = time.Since(start)
	}
	after, stillKnown := cpuTime()
	return sample{
		// At least 1, as the contract says: a clock that did not advance is no measurement of 0.
		elapsedNs: uint64(max(sums.elapsed.Nanoseconds(), 1)),
		done:      sums.done,
		cpu:       cpuUse{user: after.user - before.user, sys: after.sys - before.sys},
		cpuKnown:  known && stillKnown,
		// When the clock and the CPU time have been read: sorting is not the contender's work.
		distribution: events.String(),
		forks:        w.forksSoFar() - forksBefore,
		countForks:   w.countForks,
	}
}

func (w *Work) forksSoFar() uint64 {
	if !w.countForks {
		return 0
	}
	return w.forks()
}

// sampleWhole lets the first iteration's result stand for the batch while the clock runs, so that
// comparing is all that happens between two iterations; the sums are made when the clock has
// stopped.
func (w *Work) sampleWhole(batch uint32, sums *sums) time.Duration {
	start := time.Now()
	first := w.iterate()
	odd := first
	for range batch - 1 {
		if next := w.iterate(); next != first && odd == first {
			odd = next
		}
	}
	elapsed := time.Since(start)
	sums.add(first.done(), uint64(batch-1))
	sums.add(odd.done(), 1)
	return elapsed
}

// done is an iteration, or the sum of several, as it is printed.
type done struct {
	answer  string
	ops     uint64
	work    uint64
	counted bool
}

func (i Iteration) done() done {
	return done{strconv.FormatUint(i.Answer, 10), i.Ops, i.Work, !i.Uncounted}
}
