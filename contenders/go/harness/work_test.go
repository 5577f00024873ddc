package harness

import (
	"strings"
	"testing"
)

// counting is work whose iterations are numbered from 1.
func counting(iterate func(number int) Iteration) Work {
	number := 0
	return Plain(func() Iteration {
		number++
		return iterate(number)
	})
}

func TestABatchSumsAndKeepsOneAnswer(t *testing.T) {
	work := counting(func(int) Iteration { return Iteration{Answer: 6, Ops: 2, Work: 3} })
	if s := work.sample(4, nil); s.answer != "6" || s.ops != 8 || s.work != 12 || !s.counted {
		t.Errorf("got %v", s)
	}
}

func TestABatchDoesAllItsIterations(t *testing.T) {
	calls := 0
	work := Plain(func() Iteration { calls++; return Iteration{} })
	for _, batch := range []uint32{1, 2, 7} {
		calls = 0
		if work.sample(batch, nil); calls != int(batch) {
			t.Errorf("a batch of %d did %d", batch, calls)
		}
	}
}

func TestAnswersThatDifferInsideABatchAreShown(t *testing.T) {
	for odd := 1; odd <= 3; odd++ {
		work := counting(func(number int) Iteration {
			if number == odd {
				return Iteration{Answer: 9, Ops: 1}
			}
			return Iteration{Answer: 6, Ops: 1}
		})
		want := "differs:6:9"
		if odd == 1 {
			want = "differs:9:6"
		}
		if s := work.sample(3, nil); s.answer != want {
			t.Errorf("number %d was odd, and the answer %q", odd, s.answer)
		}
	}
}

func TestLessWorkInsideABatchIsNotHidden(t *testing.T) {
	work := counting(func(number int) Iteration {
		if number == 2 {
			return Iteration{Answer: 6, Ops: 1, Work: 1}
		}
		return Iteration{Answer: 6, Ops: 1, Work: 5}
	})
	if s := work.sample(3, nil); s.work == 15 {
		t.Errorf("got %v", s)
	}
}

func TestWorkThatIsNotCountedIsADash(t *testing.T) {
	work := Plain(func() Iteration { return Iteration{Answer: 6, Ops: 1, Work: 7, Uncounted: true} })
	if line := work.sample(2, nil).String(); !strings.Contains(line, " ops=2 answer=6 work=- ") {
		t.Errorf("got %q", line)
	}
}

type stages struct{ calls []string }

func (s *stages) Prepare() { s.calls = append(s.calls, "prepare") }
func (s *stages) Run()     { s.calls = append(s.calls, "run") }
func (s *stages) Finish() Iteration {
	s.calls = append(s.calls, "finish")
	return Iteration{Answer: 1, Ops: 1, Work: 1}
}

func TestStagedWorkRunsItsStagesInOrder(t *testing.T) {
	order := &stages{}
	work := Staged(order)
	if s := work.sample(3, nil); s.answer != "1" || s.ops != 3 || s.work != 3 {
		t.Errorf("got %v", s)
	}
	if got := strings.Join(order.calls, " "); got != strings.TrimSpace(strings.Repeat("prepare run finish ", 3)) {
		t.Errorf("got %s", got)
	}
}
