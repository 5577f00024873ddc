package harness

import (
	"fmt"
	"slices"
	"time"
)

// Events are what the events of a sample took.
type Events struct{ ns []uint64 }

// Add adds one event.
func (e *Events) Add(took time.Duration) {
	e.ns = append(e.ns, uint64(max(took.Nanoseconds(), 0)))
}

// String is the end of a sample's line: the distribution, by nearest rank, or nothing if there are
// no events. An event of 0 ns counts as 1 ns: it was shorter than the clock can tell.
func (e *Events) String() string {
	if len(e.ns) == 0 {
		return ""
	}
	slices.Sort(e.ns)
	at := func(perMille int) uint64 {
		rank := (len(e.ns)*perMille + 999) / 1000
		return max(e.ns[max(rank, 1)-1], 1)
	}
	return fmt.Sprintf(" events=%d p50_ns=%d p99_ns=%d p999_ns=%d max_ns=%d",
		len(e.ns), at(500), at(990), at(999), at(1000))
}
