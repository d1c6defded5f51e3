//go:build !unix

package gpu

// mapPages returns n zeroed bytes that begin at a multiple of 256. They are Go's: only the host is
// a device here, whose copies do not outlive their call.
func mapPages(n int) (b []byte, unmap func() error, err error) {
	whole := make([]byte, n+batchAlign)
	skip := int(-address(whole) & (batchAlign - 1))
	return whole[skip : skip+n : skip+n], func() error { return nil }, nil
}
