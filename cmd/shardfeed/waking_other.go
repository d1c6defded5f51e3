//go:build !linux

package main

// wakeGently does nothing: there is no such class of threads here.
func wakeGently() error { return nil }
