package block

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

var canTranspose = cpu.X86.HasAVX2

// transposeRecords copies the words of four records: word k of record j to word k*step+j of dst.
//
//go:noescape
func transposeRecords(dst *uint64, step, words int, from *[4]unsafe.Pointer)

// packHalves copies a half of each word, starting at half, eight words at a time. It leaves out the
// rest, and reads at most a word behind the last one.
//
//go:noescape
func packHalves(dst []uint32, half unsafe.Pointer)

// packBits copies a bit of each word, eight words for each byte of dst.
//
//go:noescape
func packBits(dst []byte, words *uint64, bit int)
