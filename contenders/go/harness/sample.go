package harness

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// sums over the iterations of one batch.
type sums struct {
	elapsed time.Duration
	done
	begun bool
}

// add counts the same iteration so many times.
func (s *sums) add(more done, times uint64) {
	if times == 0 {
		return
	}
	switch {
	case !s.begun:
		s.begun, s.answer, s.counted = true, more.answer, true
	case s.answer != more.answer && !strings.HasPrefix(s.answer, "differs:"):
		s.answer = "differs:" + s.answer + ":" + more.answer
	}
	s.ops += more.ops * times
	s.work += more.work * times
	s.counted = s.counted && more.counted
}

// sample is one timed sample: the sums over the iterations of its batch.
type sample struct {
	elapsedNs uint64
	done
	cpu      cpuUse
	cpuKnown bool
	// distribution is empty where the workload has no events.
	distribution string
	// forks are printed where somebody asked for them.
	forks      uint64
	countForks bool
}

func (s sample) String() string {
	line := fmt.Sprintf("sample elapsed_ns=%d ops=%d answer=%s work=%s user_us=%s sys_us=%s%s",
		s.elapsedNs, s.ops, s.answer, orDash(s.work, s.counted),
		orDash(s.cpu.user, s.cpuKnown), orDash(s.cpu.sys, s.cpuKnown), s.distribution)
	if s.countForks {
		line += fmt.Sprintf(" forks=%d", s.forks)
	}
	return line
}

func orDash(value uint64, known bool) string {
	if !known {
		return "-"
	}
	return strconv.FormatUint(value, 10)
}

// cpuUse is CPU time of the whole process, in µs.
type cpuUse struct{ user, sys uint64 }
