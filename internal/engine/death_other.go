//go:build !linux

package engine

// onDeath watches nothing. The end of the socket tells.
func onDeath(int, func()) (stop func()) { return func() {} }
