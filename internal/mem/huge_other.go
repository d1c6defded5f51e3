//go:build unix && !linux

package mem

func adviseHuge([]byte) {}
