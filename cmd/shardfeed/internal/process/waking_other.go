//go:build !linux

package process

// WakeGently does nothing: there is no such class of threads here.
func WakeGently() error { return nil }
