//go:build !unix

package main

// allowDescriptors has no limit to raise.
func allowDescriptors(uint64) error { return nil }
