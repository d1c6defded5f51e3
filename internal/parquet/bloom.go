package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"github.com/parquet-go/parquet-go/bloom/xxhash"
)

// BloomHeaderBytes is more than any header of a bloom filter takes.
const BloomHeaderBytes = 64

// bloomBlock is the bytes of a block of the filter: eight words.
const bloomBlock = 32

var errBloom = errors.New("unsupported bloom filter algorithm, hash or compression")

// A Bloom is a split-block bloom filter: which values a column chunk may have.
type Bloom struct {
	bits []byte
}

// ParseBloomHeader reads a BloomFilterHeader at the front of b. It returns the bytes of the header
// and of the filter behind it.
func ParseBloomHeader(b []byte) (header, size int, err error) {
	r := &thriftReader{b: b}
	var kinds [3]int16 // of algorithm, hash and compression: the one that there is has id 1
	r.fields(func(id int16, typ byte) {
		switch {
		case id == 1 && typ == thriftI32:
			size = int(r.int32())
		case id >= 2 && id <= 4 && typ == thriftStruct:
			r.fields(func(kind int16, _ byte) { kinds[id-2] = kind })
		}
	})
	switch {
	case r.err != nil:
		return 0, 0, r.err
	case kinds != [3]int16{1, 1, 1}:
		return 0, 0, errBloom
	case size < bloomBlock || size%bloomBlock != 0:
		return 0, 0, fmt.Errorf("a bloom filter of %d bytes, which are no whole blocks", size)
	}
	return r.pos, size, nil
}

// NewBloom returns the filter of these bytes, as many as the header says.
func NewBloom(b []byte) *Bloom { return &Bloom{bits: b} }

// bloomSalts make a bit of each word of a block out of a hash.
var bloomSalts = [8]uint32{0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31}

// MayContain reports whether the chunk may have a value, which is plain-encoded, strings without
// their length.
func (f *Bloom) MayContain(value []byte) bool {
	x := xxhash.Sum64(value)
	at, _ := bits.Mul64(x>>32<<32, uint64(len(f.bits)/bloomBlock))
	block := f.bits[at*bloomBlock:]
	for i, salt := range bloomSalts {
		if word := binary.LittleEndian.Uint32(block[4*i:]); word>>(uint32(x)*salt>>27)&1 == 0 {
			return false
		}
	}
	return true
}
