//go:build !linux && !darwin

package mem

func installed() int64 { return 0 }
