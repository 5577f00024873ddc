package harness

import (
	"bytes"
	"strings"
	"testing"
)

func describer() Contender {
	return Contender{
		ID: "x", Runtime: "y", Version: "1.2 z", Toolchain: "gc", Flags: "-", ThreadsMax: 2,
		Workloads: []Workload{{"fib", func(request *Request) (Work, error) {
			_, err := request.Between("n", 0, 9)
			return Plain(func() Iteration { return Iteration{Answer: 1, Ops: 1, Work: 1} }), err
		}}},
		Knobs: []Knob{{"k", "7"}},
	}
}

func TestTheDescriptionSaysEverythingOnce(t *testing.T) {
	var out bytes.Buffer
	if status := Converse(describer(), []string{"--describe"}, strings.NewReader(""), &out, &out); status != 0 {
		t.Errorf("the status is %d", status)
	}
	want := "protocol 2\nid x\nruntime y 1.2 z\ntoolchain gc\nflags -\nworkload fib\nknob k 7\n"
	if out.String() != want {
		t.Errorf("got %q", out.String())
	}
}

func TestAVersionThatCannotBeKnownIsUnknown(t *testing.T) {
	var out bytes.Buffer
	Converse(Contender{ID: "x", Runtime: "y"}, []string{"--describe"}, strings.NewReader(""), &out, &out)
	if !strings.Contains(out.String(), "runtime y unknown\n") {
		t.Errorf("got %q", out.String())
	}
}

func TestWhatIsNotSupportedIsToldFromMisuse(t *testing.T) {
	cases := []struct {
		args   string
		status int
		reason string
	}{
		{"--workload fib --threads 3 --salt 0 --set n=1", exitUnsupported, "3"},
		{"--workload skynet --threads 1 --salt 0", exitUnsupported, `"skynet"`},
		{"--workload fib --threads 1 --salt 0 --set n=10", exitMisuse, "n=10"},
		{"--workload fib --threads 1 --salt 0 --set n=1 --set m=1", exitMisuse, `"m"`},
		{"--workload conformance --threads 99 --salt 0 --set answer=1 --set ops=1 --set work=1", 0, ""},
	}
	for _, c := range cases {
		var stdout, stderr bytes.Buffer
		status := Converse(describer(), strings.Fields(c.args), strings.NewReader(""), &stdout, &stderr)
		if status != c.status || !strings.Contains(stderr.String(), c.reason) {
			t.Errorf("%q gave %d and %q", c.args, status, stderr.String())
		}
	}
}

func TestInputThatIsNotTextIsRefused(t *testing.T) {
	var stdout, stderr bytes.Buffer
	args := strings.Fields("--workload fib --threads 1 --salt 0 --set n=1")
	if status := Converse(describer(), args, strings.NewReader("\xff\n"), &stdout, &stderr); status != exitMisuse {
		t.Errorf("the status is %d", status)
	}
}

// writes remembers what came in which call.
type writes []string

func (w *writes) Write(bytes []byte) (int, error) {
	*w = append(*w, string(bytes))
	return len(bytes), nil
}

func TestEveryLineLeavesAtOnce(t *testing.T) {
	var stdout writes
	args := strings.Fields("--workload fib --threads 1 --salt 0 --set n=1")
	// The last line has no end, and counts all the same.
	Converse(describer(), args, strings.NewReader("run 2\r\nrun 1"), &stdout, &stdout)
	if len(stdout) != 5 {
		t.Fatalf("%d lines came in %q", len(stdout), stdout)
	}
	for _, line := range stdout {
		if strings.Index(line, "\n") != len(line)-1 {
			t.Errorf("%q is not one line", line)
		}
	}
}

func TestWorkIsStoppedOnceAfterItsLastSample(t *testing.T) {
	for _, input := range []string{"run 2\nquit\n", "run 1\nrun 1", "run 2\nrun\n"} {
		var calls []string
		contender := Contender{ID: "x", Workloads: []Workload{{"w", func(*Request) (Work, error) {
			return Plain(func() Iteration {
				calls = append(calls, "sample")
				return Iteration{}
			}).StoppedBy(func() { calls = append(calls, "stop") }), nil
		}}}}
		var out bytes.Buffer
		Converse(contender, strings.Fields("--workload w --threads 1 --salt 0"), strings.NewReader(input), &out, &out)
		if got := strings.Join(calls, " "); got != "sample sample stop" {
			t.Errorf("%q gave %s", input, got)
		}
	}
}
