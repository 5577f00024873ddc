package main

import (
	"fmt"
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"

	"palio/contenders/go/harness"
)

// sampled takes one sample of a row, and returns its line and the goroutines that were made.
func sampled(t *testing.T, row, settings string, batch int) (line string, created uint64) {
	t.Helper()
	args := []string{"--workload", row, "--threads", "1", "--salt", "0", "--set", "root=worker"}
	for _, setting := range strings.Fields(settings) {
		args = append(args, "--set", setting)
	}
	contender := harness.Contender{ID: "test", ThreadsMax: 1, Workloads: workloads}
	count := []metrics.Sample{{Name: goroutinesCreated}}
	var out, problems strings.Builder
	metrics.Read(count)
	before := count[0].Value.Uint64()
	input := strings.NewReader(fmt.Sprintf("run 1 %d\nquit\n", batch))
	if status := harness.Converse(contender, args, input, &out, &problems); status != 0 {
		t.Fatalf("%s: status %d: %s", row, status, problems.String())
	}
	metrics.Read(count)
	return out.String(), count[0].Value.Uint64() - before
}

// The last child of each task runs in place.
func TestEveryChildButTheLastIsAGoroutine(t *testing.T) {
	count := []metrics.Sample{{Name: goroutinesCreated}}
	if metrics.Read(count); count[0].Value.Kind() != metrics.KindUint64 {
		t.Skip("this Go does not count goroutines")
	}
	// The collector makes goroutines of its own in its first cycle, and none after it.
	runtime.GC()
	for _, c := range []struct {
		row   string
		run   func()
		forks uint64
	}{
		{"skynet", func() { skynet(0, 1000) }, 999},
		{"nqueens", func() { tryRow(board{}, 0, 9) }, 2935},
		{"held_out/unbalanced_tree", func() { shape{roots: 10, branches: 4}.search(1, 10) }, 9},
	} {
		metrics.Read(count)
		before := count[0].Value.Uint64()
		c.run()
		metrics.Read(count)
		expect(t, c.row, count[0].Value.Uint64()-before, c.forks)
	}
}

func TestAllIterationsOfASampleAreInOneRootOrEachInItsOwn(t *testing.T) {
	count := []metrics.Sample{{Name: goroutinesCreated}}
	if metrics.Read(count); count[0].Value.Kind() != metrics.KindUint64 {
		t.Skip("this Go does not count goroutines")
	}
	defer seasoned(0)()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const more = 10
	for _, c := range []struct {
		row, settings string
		answer, work  uint64
		// roots and tasks are goroutines of one iteration.
		roots, tasks uint64
	}{
		{"fan_in", "senders=100 buffer=7 reader=last", 4950, 100, 0, 100},
		{"native_sync/mpsc_contention", "producers=4 messages=25", 4950, 100, 0, 4},
		{"native_sync/mpsc_uncontended", "messages=100", 4950, 100, 0, 0},
		{"native_sync/request_reply", "requests=100", 5050, 100, 0, 0},
		{"native_sync/semaphore_contention", "tasks=6 permits=5", 6, 6, 0, 6},
		{"native_sync/semaphore_uncontended", "tasks=6 permits=10", 6, 6, 0, 6},
		{"sync_mpsc/contention", "producers=4 messages=25", 4950, 100, 1, 4},
		{"sync_mpsc/uncontended", "messages=100", 4950, 100, 1, 0},
		{"sync_mpsc_oneshot/request_reply", "requests=100", 5050, 100, 1, 0},
	} {
		// The collector makes goroutines of its own in its first cycle, and none after it.
		sampled(t, c.row, c.settings, 1)
		runtime.GC()
		_, one := sampled(t, c.row, c.settings, 1)
		line, all := sampled(t, c.row, c.settings, 1+more)
		work := (1 + more) * c.work
		if want := fmt.Sprintf(" ops=%d answer=%d work=%d ", work, c.answer, work); !strings.Contains(line, want) {
			t.Errorf("%s said %q, without %q", c.row, line, want)
		}
		// What is made before the first iteration is made for both.
		expect(t, c.row, all-one, more*(c.roots+c.tasks))
	}
}
