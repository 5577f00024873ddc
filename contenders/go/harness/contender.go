// Package harness is the contender's side of Palio's contract for Go: arguments, clock, resource
// usage, printing.
//
// A contender's main is one call:
//
//	func main() {
//		os.Exit(harness.Serve(harness.Contender{
//			ID:        "serial",
//			Runtime:   "none",
//			Version:   "1",
//			Toolchain: "gc",
//			Flags:     "-",
//			Workloads: []harness.Workload{{Name: "fib", Prepare: prepareFib}},
//		}))
//	}
package harness

import (
	"fmt"
	"io"
)

// ProtocolVersion is the version of the contract that this harness speaks.
const ProtocolVersion = 2

// Contender says who takes part and what it can run.
type Contender struct {
	ID      string
	Runtime string
	// Version of the runtime as linked; empty if it cannot be known, and then it may not race.
	Version   string
	Toolchain string
	// Flags of the build that matter; "-" if none does.
	Flags string
	// ThreadsMax is the largest --threads that makes sense; 0 if there is no limit.
	ThreadsMax int
	Workloads  []Workload
	// Knobs that --set accepts beside the workload's parameters.
	Knobs []Knob
}

// Workload is one workload that a contender runs.
type Workload struct {
	Name    string
	Prepare Prepare
}

// Prepare gets one workload ready: it reads the parameters, starts the runtime (scope steady), and
// returns the timed work.
type Prepare func(*Request) (Work, error)

// Knob is a tuning knob, with its default.
type Knob struct {
	Name    string
	Default string
}

func (c *Contender) describe(out io.Writer) error {
	version := c.Version
	if version == "" {
		version = "unknown"
	}
	_, err := fmt.Fprintf(out, "protocol %d\nid %s\nruntime %s %s\ntoolchain %s\nflags %s\n",
		ProtocolVersion, c.ID, c.Runtime, version, c.Toolchain, c.Flags)
	for _, workload := range c.Workloads {
		if err == nil {
			_, err = fmt.Fprintf(out, "workload %s\n", workload.Name)
		}
	}
	for _, knob := range c.Knobs {
		if err == nil {
			_, err = fmt.Fprintf(out, "knob %s %s\n", knob.Name, knob.Default)
		}
	}
	return err
}

// prepare finds the workload that the request names and gets it ready.
func (c *Contender) prepare(request *Request) (Work, error) {
	prepare, err := c.find(request)
	if err != nil {
		return Work{}, err
	}
	work, err := prepare(request)
	if err != nil {
		return Work{}, err
	}
	if err := request.refuseWhatIsLeft(); err != nil {
		return Work{}, err
	}
	if request.countForks && work.forks == nil {
		return Work{}, Unsupported("%s does not count the forks of %q", c.ID, request.Workload)
	}
	work.countForks = request.countForks
	return work, nil
}

func (c *Contender) find(request *Request) (Prepare, error) {
	if request.Workload == "conformance" || request.Workload == conformanceEvents ||
		request.Workload == conformanceForks {
		return conformance, nil
	}
	if request.Workload == conformanceSalt {
		return prepareConformanceSalt, nil
	}
	for _, workload := range c.Workloads {
		if workload.Name != request.Workload {
			continue
		}
		if c.ThreadsMax > 0 && request.Threads > c.ThreadsMax {
			return nil, Unsupported("%s runs on at most %d thread(s), not %d", c.ID, c.ThreadsMax, request.Threads)
		}
		return workload.Prepare, nil
	}
	return nil, Unsupported("%s does not run %q", c.ID, request.Workload)
}
