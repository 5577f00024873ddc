package main

import (
	"sync"

	"palio/contenders/go/harness"
)

// smallPart is how many numbers are sorted by insertion.
const smallPart = 16

// sorting is the row held_out/quicksort: the numbers are copied outside the clock.
type sorting struct {
	unsorted, sorted []uint64
	leaf             int
	tasks            uint64
}

func prepareQuicksort(request *harness.Request) (harness.Work, error) {
	n, err := request.Between("n", 0, 1<<30)
	if err != nil {
		return harness.Work{}, err
	}
	leaf, err := request.Between("leaf", smallPart, countMax)
	if err != nil {
		return harness.Work{}, err
	}
	row := sorting{unsorted: make([]uint64, n), sorted: make([]uint64, n), leaf: int(leaf)}
	// The salt raises all of them alike, so that their order, and with it the tasks, hangs on their
	// places alone.
	for i := range row.unsorted {
		row.unsorted[i] = harness.Mix(0, uint64(i))>>1 + request.Salt>>1
	}
	return harness.Staged(&row), startScheduler(request)
}

func (s *sorting) Prepare() { copy(s.sorted, s.unsorted) }

func (s *sorting) Run() { s.tasks = onGoroutine(func() uint64 { return quicksort(s.sorted, s.leaf) }) }

func (s *sorting) Finish() harness.Iteration {
	done := harness.Iteration{Ops: uint64(len(s.sorted)), Work: s.tasks}
	for i, value := range s.sorted {
		done.Answer += (uint64(i) + 1) * value
	}
	return done
}

// quicksort forks for one part, and sorts the other in place. It returns the tasks, this one
// included.
func quicksort(part []uint64, leaf int) uint64 {
	if len(part) <= leaf {
		sortHere(part)
		return 1
	}
	middle := partition(part)
	// One struct, because it moves to the heap whole: two variables would be two allocations.
	var forked struct {
		done  sync.WaitGroup
		tasks uint64
	}
	forked.done.Add(1)
	go func() {
		forked.tasks = quicksort(part[:middle], leaf)
		forked.done.Done()
	}()
	here := quicksort(part[middle:], leaf)
	forked.done.Wait()
	return 1 + forked.tasks + here
}

func sortHere(part []uint64) {
	for len(part) > smallPart {
		middle := partition(part)
		sortHere(part[:middle])
		part = part[middle:]
	}
	for end := 1; end < len(part); end++ {
		value, at := part[end], end
		for at > 0 && part[at-1] > value {
			part[at] = part[at-1]
			at--
		}
		part[at] = value
	}
}

// partition is Hoare's, around the median of the first, the middle and the last; it returns how
// many are left of it.
func partition(part []uint64) int {
	first, middle, last := part[0], part[len(part)/2], part[len(part)-1]
	pivot := max(min(first, middle), min(max(first, middle), last))
	left, right := 0, len(part)-1
	for {
		for part[left] < pivot {
			left++
		}
		for part[right] > pivot {
			right--
		}
		if left >= right {
			return right + 1
		}
		part[left], part[right] = part[right], part[left]
		left++
		right--
	}
}
