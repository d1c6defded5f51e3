//go:build unix && !linux

package gpu

// adviseHuge does nothing where there are no huge pages to ask for.
func adviseHuge([]byte) {}
