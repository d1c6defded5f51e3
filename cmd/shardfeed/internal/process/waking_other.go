//go:build !linux

package process

// WakeGently does nothing: only Linux has a scheduling class for such threads.
func WakeGently() error { return nil }
