package harness

import "fmt"

const (
	// exitMisuse is for arguments or commands that cannot be understood.
	exitMisuse = 2
	// exitUnsupported is for a workload or a thread count that is not supported.
	exitUnsupported = 3
)

// Refusal is why a workload cannot be run as asked.
type Refusal struct {
	status int
	reason string
}

func (r *Refusal) Error() string { return r.reason }

// Misuse refuses arguments that make no sense.
func Misuse(format string, args ...any) error {
	return &Refusal{exitMisuse, fmt.Sprintf(format, args...)}
}

// Unsupported refuses arguments that make sense, but that this contender does not do.
func Unsupported(format string, args ...any) error {
	return &Refusal{exitUnsupported, fmt.Sprintf(format, args...)}
}
