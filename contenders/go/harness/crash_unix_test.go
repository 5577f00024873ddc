//go:build unix

package harness

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

const crashVariable = "PALIO_TEST_CRASH"

// TestMain lets the test's own executable be the contender that crashes.
func TestMain(m *testing.M) {
	reason := os.Getenv(crashVariable)
	if reason == "" {
		os.Exit(m.Run())
	}
	os.Args = append(os.Args[:1], "--workload", "crash", "--threads", "1", "--salt", "0")
	os.Exit(Serve(Contender{ID: "test", Workloads: []Workload{{"crash", func(*Request) (Work, error) {
		return Plain(func() Iteration {
			go func() { panic(reason) }()
			select {}
		}), nil
	}}}}))
}

func TestACrashIsASignal(t *testing.T) {
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), crashVariable+"=overboard")
	command.Stdin = strings.NewReader("run 1\n")
	output, err := command.CombinedOutput()
	status, ok := command.ProcessState.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() || !strings.Contains(string(output), "overboard") {
		t.Errorf("it ended with %v and %s", err, output)
	}
}
