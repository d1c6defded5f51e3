//go:build unix

package block

import (
	"bytes"
	"math/rand/v2"
	"syscall"
	"testing"
	"unsafe"
)

// Values at any distance from a page that must not be read are copied one after the other, and
// no byte after them is written.
func TestCopyValues(t *testing.T) {
	page := syscall.Getpagesize()
	m, err := syscall.Mmap(-1, 0, 8*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Munmap(m) }()
	r := rand.New(rand.NewPCG(1, 9))
	for i := range m {
		m[i] = byte(r.Uint32())
	}
	if err := syscall.Mprotect(m[7*page:], syscall.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	source := m[:7*page]
	for range 2000 {
		most := []int{3, 40, 100, 200, 3000, 4 * page}[r.IntN(6)]
		var from []unsafe.Pointer
		var lens []uint32
		var want []byte
		for range r.IntN(60) {
			n := r.IntN(most)
			begin := r.IntN(len(source) - n)
			if r.IntN(4) == 0 { // at the last readable byte
				begin = len(source) - n - r.IntN(min(80, len(source)-n))
			}
			from, lens = append(from, unsafe.Pointer(unsafe.SliceData(source[begin:]))), append(lens, uint32(n))
			want = append(want, source[begin:begin+n]...)
		}
		dst := bytes.Repeat([]byte{0xee}, len(want)+200)
		n := CopyValues(dst[:len(want):len(want)], from, lens)
		if n != len(want) || !bytes.Equal(dst[:n], want) {
			t.Fatalf("%d values of up to %d bytes: %d bytes of %d, or others", len(lens), most, n, len(want))
		}
		if !bytes.Equal(dst[n:], bytes.Repeat([]byte{0xee}, 200)) {
			t.Fatal("bytes behind the end were written")
		}
	}
}
