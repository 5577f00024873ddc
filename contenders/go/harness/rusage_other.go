//go:build !unix

package harness

// cpuTime is not known: the standard library has no getrusage here, and a 0 would be a lie.
func cpuTime() (cpuUse, bool) { return cpuUse{}, false }
