package wire

import (
	"bytes"
	"hash/crc32"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

func consume(b []byte) (m []byte, n int) { return protowire.ConsumeBytes(b) }

func kindOf(s checksums) int {
	switch {
	case s.table == nil:
		return sumNull
	case s.table == crc32.IEEETable:
		return sumCRC32
	}
	return sumCRC32C
}

// FuzzRequest: what is sent in a request's place asks for the same block from the same byte, and
// for no more.
func FuzzRequest(f *testing.F) {
	f.Add(readBlock(5, 100), int64(10))
	f.Add([]byte{0, version, opReadBlock, 0}, int64(0))
	f.Fuzz(func(t *testing.T, b []byte, wanted int64) {
		if len(b) < opHeader {
			t.Skip()
		}
		before := bytes.Clone(b)
		out, asked, err := parseRequest(b, func() int64 { return wanted })
		if !bytes.Equal(b, before) {
			t.Fatal("the client's bytes were changed")
		}
		if err != nil {
			return
		}
		_, whole, err := parseRequest(b, nil)
		if err != nil || asked.block != whole.block || asked.off != whole.off || asked.end > whole.end {
			t.Fatalf("%+v became %+v, %v", whole, asked, err)
		}
		if _, again, err := parseRequest(out, nil); err != nil || again != asked {
			t.Fatalf("sent %+v, not %+v, %v", again, asked, err)
		}
	})
}

func FuzzResponse(f *testing.F) {
	f.Add(response(sumCRC32C, 512, 512)[1:], int64(600))
	f.Fuzz(func(t *testing.T, m []byte, off int64) {
		first, sums, err := parseResponse(m, off)
		if err == nil && (first > off || off-first >= int64(sums.chunk) || sums.chunk <= 0 || first < 0) {
			t.Fatalf("from %d for %d, chunks of %d", first, off, sums.chunk)
		}
	})
}
