package main

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"

	"palio/contenders/go/harness"
)

// threadsMax stays well below the number of threads at which the runtime aborts the process (10,000
// by default).
const threadsMax = 8192

// roomOutside is the room of the channel on which the harness's own goroutine waits.
const roomOutside = 1000

const gogcDefault = "100"

const memoryLimitDefault = "off"

// countMax bounds the parameters that say how many tasks to make: an index of a slice must hold it.
const countMax = math.MaxInt32

// salt enters the work as the definitions say. It is read where it is needed and not passed down to
// it: an argument more in every goroutine would be a cost that the work does not have.
var salt uint64

// startScheduler sets what can be set of a runtime that the process was born with, and the salt.
func startScheduler(request *harness.Request) error {
	salt = request.Salt
	text, turned := request.Knob("gogc")
	if !turned {
		text = gogcDefault
	}
	percent := int64(-1)
	if text != "off" {
		var err error
		if percent, err = strconv.ParseInt(text, 10, 32); err != nil || percent < 1 {
			return harness.Misuse("--set gogc=%s is neither an integer of at least 1 nor off", text)
		}
	}
	// Also when the knob was not turned: GOGC in the environment must not make a stock row of a tuned
	// one.
	debug.SetGCPercent(int(percent))
	if err := limitMemory(request); err != nil {
		return err
	}
	runtime.GOMAXPROCS(request.Threads)
	return nil
}

// limitMemory sets the limit near which the collector works more often, if the user asks for one.
// It is set only then, as GOMEMLIMIT of the environment is told among the flags.
func limitMemory(request *harness.Request) error {
	text, turned := request.Knob("memory_limit_mib")
	if !turned {
		return nil
	}
	limit := int64(math.MaxInt64)
	if text != memoryLimitDefault {
		mebibytes, err := strconv.ParseInt(text, 10, 32)
		if err != nil || mebibytes < 1 {
			return harness.Misuse("--set memory_limit_mib=%s is neither an integer of at least 1 nor off", text)
		}
		limit = mebibytes << 20
	}
	debug.SetMemoryLimit(limit)
	return nil
}

// onOneThread refuses more threads than the workload is defined on.
func onOneThread(prepare harness.Prepare) harness.Prepare {
	return func(request *harness.Request) (harness.Work, error) {
		if request.Threads != 1 {
			return harness.Work{}, harness.Unsupported("%s is for one thread, not %d", request.Workload, request.Threads)
		}
		return prepare(request)
	}
}

// rooted is for rows whose root may run on a worker or outside: here it is a goroutine, and all of
// these run on workers.
func rooted(prepare harness.Prepare) harness.Prepare {
	return func(request *harness.Request) (harness.Work, error) {
		root, err := request.OneOf("root", "worker", "outside")
		if err != nil {
			return harness.Work{}, err
		}
		if root == "outside" {
			return harness.Work{}, harness.Unsupported("a root outside would be no goroutine")
		}
		return prepare(request)
	}
}

// onGoroutine runs a root task and waits for what it returns.
func onGoroutine[T any](task func() T) T {
	result := make(chan T, 1)
	go func() { result <- task() }()
	return <-result
}

// rooting makes the work of a row from what the root does in an iteration.
type rooting func(root func() harness.Iteration) harness.Work

// rootEach has a goroutine for each iteration, for which the harness's own waits.
func rootEach(root func() harness.Iteration) harness.Work {
	return harness.Plain(func() harness.Iteration { return onGoroutine(root) })
}

// rootInOne has one goroutine for all iterations, one after the other, so that none of them pays
// for the way to another goroutine and back. It is the harness's own, which runs on a worker like
// any other.
func rootInOne(root func() harness.Iteration) harness.Work { return harness.Plain(root) }

// goroutinesCreated is the runtime's own count, which Go has since 1.26.
const goroutinesCreated = "/sched/goroutines-created:goroutines"

// countingGoroutines counts the forks of work that hands each of them over as a goroutine. Nothing
// is added to the work: the runtime counts by itself.
func countingGoroutines(work harness.Work) harness.Work {
	sample := []metrics.Sample{{Name: goroutinesCreated}}
	if metrics.Read(sample); sample[0].Value.Kind() != metrics.KindUint64 {
		return work
	}
	return work.CountedBy(func() uint64 {
		// The first cycle of the collector starts goroutines of its own, which are no forks.
		runtime.GC()
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	})
}

// flags is what the linker recorded of the build, and what the environment changes of the runtime.
func flags() string {
	// Go's allocator is part of its runtime.
	said := []string{"allocator=own"}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, setting := range info.Settings {
			if setting.Value == "" || strings.HasPrefix(setting.Key, "vcs") {
				continue
			}
			said = append(said, setting.Key+"="+setting.Value)
		}
	}
	for _, name := range []string{"GODEBUG", "GOMEMLIMIT"} {
		if value := os.Getenv(name); value != "" {
			said = append(said, "env:"+name+"="+value)
		}
	}
	return strings.Join(said, " ")
}
