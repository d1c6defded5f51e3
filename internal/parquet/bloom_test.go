package parquet

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/parquet-go/parquet-go/bloom"
	"github.com/parquet-go/parquet-go/bloom/xxhash"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

func bloomHeader(t testing.TB, size int32) []byte {
	t.Helper()
	h := format.BloomFilterHeader{NumBytes: size}
	h.Algorithm.Value = &format.SplitBlockAlgorithm{}
	h.Hash.Value = &format.XxHash{}
	h.Compression.Value = &format.BloomFilterUncompressed{}
	b, err := thrift.Marshal(new(thrift.CompactProtocol), &h)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The filter says of every value what parquet-go's says.
func TestBloom(t *testing.T) {
	theirs := bloom.MakeSplitBlockFilter(make([]byte, 32*37))
	value := func(i int) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(i*i)) }
	for i := range 200 {
		theirs.Insert(xxhash.Sum64(value(i)))
	}
	b := append(bloomHeader(t, 32*37), theirs.Bytes()...)
	header, size, err := ParseBloomHeader(b)
	if err != nil || size != 32*37 || header != len(b)-size {
		t.Fatalf("a header of %d bytes and a filter of %d: %v", header, size, err)
	}
	ours, no := NewBloom(b[header:]), 0
	for i := range 2000 {
		got, want := ours.MayContain(value(i)), theirs.Check(xxhash.Sum64(value(i)))
		if got != want || i < 200 && !got {
			t.Fatalf("value %d: %v, want %v", i, got, want)
		}
		if !got {
			no++
		}
	}
	if no < 1500 {
		t.Errorf("only %d of 1800 other values are ruled out", no)
	}
}

func TestParseBloomHeaderRefuses(t *testing.T) {
	for name, b := range map[string][]byte{
		"nothing":             nil,
		"cut":                 bloomHeader(t, 64)[:3],
		"no blocks":           bloomHeader(t, 0),
		"half a block":        bloomHeader(t, 48),
		"a negative size":     bloomHeader(t, -32),
		"an algorithm of old": bytes.Replace(bloomHeader(t, 64), []byte{0x1c, 0, 0}, []byte{0x2c, 0, 0}, 1),
	} {
		t.Run(name, func(t *testing.T) {
			if _, size, err := ParseBloomHeader(b); err == nil {
				t.Errorf("a filter of %d bytes", size)
			}
		})
	}
}

// Whatever the bytes hold, a header and the filter behind it are read within them.
func FuzzBloom(f *testing.F) {
	b := append(bloomHeader(f, 64), bytes.Repeat([]byte{0x55}, 64)...)
	for n := range len(b) + 1 {
		f.Add(b[:n], []byte("value"))
	}
	f.Fuzz(func(t *testing.T, b, value []byte) {
		header, size, err := ParseBloomHeader(b)
		if err != nil {
			return
		}
		if header <= 0 || header > len(b) || size <= 0 || size%32 != 0 {
			t.Fatalf("a header of %d bytes and a filter of %d in %d bytes", header, size, len(b))
		}
		if header+size <= len(b) {
			NewBloom(b[header : header+size]).MayContain(value)
		}
	})
}
