//go:build !unix

package mem

// mapAligned returns n bytes that start at a multiple of align, a power of two.
func mapAligned(n, align int) (whole, b []byte, err error) {
	whole = make([]byte, n+align)
	skip := int(-address(whole) & uintptr(align-1))
	return whole, whole[skip : skip+n : skip+n], nil
}

func unmap([]byte) {}
