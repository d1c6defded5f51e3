//go:build !linux

package feed

// onDeath watches nothing: the end of the socket has to do.
func onDeath(int, func()) (stop func()) { return func() {} }
