//go:build !linux

package words

// HugePages does nothing.
func HugePages[T any]([]T) {}
