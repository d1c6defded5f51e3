package estimate

import (
	"encoding/binary"
	"testing"

	"github.com/shardfeed/shardfeed/internal/leaktest"
	"github.com/shardfeed/shardfeed/rowgroup/internal/footer"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// A chunk is the only one of a footer.
type chunk struct {
	writer                                               string
	uncompressed, values, dict, binary, codec, encodings int64
	pages                                                []page
}

type page struct{ bytes, row int64 }

// record is the record of a footer with a chunk.
func (c chunk) record(t *testing.T) *footer.Record {
	t.Helper()
	b := []byte{1, 1, 100, byte(len(c.writer))} // row groups, leaves, bytes of the footer
	b = append(b, c.writer...)
	for _, v := range []int64{0, 0, 0, 0, c.uncompressed, c.values, c.dict, 0, c.binary, c.codec, c.encodings} {
		b = packed(b, v)
	}
	b = packed(b, 0, int64(len(c.pages)))
	var sizes, rows []int64
	for _, p := range c.pages {
		sizes, rows = append(sizes, p.bytes), append(rows, p.row)
	}
	b = packed(b, make([]int64, len(c.pages))...)
	r, err := footer.ParseRecord(packed(packed(b, sizes...), rows...))
	if err != nil {
		t.Fatal(err)
	}
	return &r
}

// packed appends a column of a record, 8 bytes a value.
func packed(b []byte, values ...int64) []byte {
	b = append(b, 8, 0, 0, 0, 0, 0, 0, 0, 0)
	for _, v := range values {
		b = binary.LittleEndian.AppendUint64(b, uint64(v))
	}
	return b
}
