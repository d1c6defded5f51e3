//go:build !unix

package mem

func mapHuge(n int) (whole, b []byte) {
	b = make([]byte, n)
	return b, b
}

func unmap([]byte) {}
