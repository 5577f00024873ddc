package harness

import (
	"errors"
	"math"
	"strings"
	"testing"
)

func mustRequest(t *testing.T, settings ...string) *Request {
	t.Helper()
	args := []string{"--threads", "2", "--workload", "w", "--salt", "3"}
	for _, setting := range settings {
		args = append(args, "--set", setting)
	}
	request, err := parseRequest(args)
	if err != nil {
		t.Fatal(err)
	}
	return request
}

func TestAValueMayContainAnEqualsSign(t *testing.T) {
	value, err := mustRequest(t, "k=a=b").Text("k")
	if value != "a=b" || err != nil {
		t.Errorf("got %q, %v", value, err)
	}
}

func TestAParameterNobodyTookIsRefused(t *testing.T) {
	request := mustRequest(t, "n=1", "m=2", "z=3")
	if n, err := request.Between("n", 1, math.MaxUint64); n != 1 || err != nil {
		t.Fatalf("got %d, %v", n, err)
	}
	if err := request.refuseWhatIsLeft(); err == nil || !strings.Contains(err.Error(), `"m"`) {
		t.Errorf("got %v", err)
	}
}

func TestNumbersAreStrict(t *testing.T) {
	for _, text := range []string{"-1", "+1", "1.0", "0x10", "1_000", "1e3", "many", "18446744073709551616", "9", "21"} {
		if n, err := mustRequest(t, "n="+text).Between("n", 10, 20); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%q gave %d, %v", text, n, err)
		}
	}
}

func TestWordsAreStrict(t *testing.T) {
	if word, err := mustRequest(t, "reader=first").OneOf("reader", "first", "last"); word != "first" || err != nil {
		t.Errorf("got %q, %v", word, err)
	}
	if _, err := mustRequest(t, "reader=middle").OneOf("reader", "first", "last"); err == nil {
		t.Error("a word that is none of them was taken")
	}
}

func TestArgumentsThatMakeNoSenseNameTheOffender(t *testing.T) {
	cases := []struct{ args, reason string }{
		{"--threads=2 --workload w", "--threads=2"},
		{"-threads 2 --workload w", "-threads"},
		{"--threads +2 --workload w", "+2"},
		{"--threads 2 --threads 2 --workload w", "--threads is given twice"},
		{"--threads 2 --workload w --workload w", "--workload is given twice"},
		{"--threads 2 --workload w extra", "extra"},
		{"--threads 2 --workload w --describe", "--describe"},
		{"--threads 2 --workload w --set", "--set"},
		{"--threads 2 --workload w --set =1", "=1"},
		{"--threads 2 --workload w --set n=", "n="},
		{"--threads 99999999999999999999 --workload w", "99999999999999999999"},
	}
	for _, c := range cases {
		_, err := parseRequest(strings.Fields(c.args))
		var refusal *Refusal
		if !errors.As(err, &refusal) || refusal.status != exitMisuse || !strings.Contains(err.Error(), c.reason) {
			t.Errorf("%q gave %v", c.args, err)
		}
	}
	if _, err := parseRequest([]string{"--threads", "1", "--workload", "w", "--salt", "3", "--set", "k=a b"}); err == nil {
		t.Error("a value with white space was taken")
	}
}

func TestCommandsThatAreNoneSayWhy(t *testing.T) {
	for _, line := range []string{
		"", "run", "run 0", "run 1 0", "run -1", "run +1", "run 1 2 3", "run x", "Quit", "quit now", "run 99999999999",
		"run\u00a01",
	} {
		if _, err := parseCommand(line); err == nil {
			t.Errorf("%q was taken for a command", line)
		}
	}
	if got, err := parseCommand("  run\t12 4096 "); err != nil || got != (command{samples: 12, batch: 4096}) {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestAFloodIsCutInTheMessage(t *testing.T) {
	if _, err := parseCommand(strings.Repeat("x", 1<<20)); len(err.Error()) > 400 {
		t.Errorf("the message has %d bytes", len(err.Error()))
	}
}
