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

func TestField(t *testing.T) {
	sub := func(n protowire.Number, m []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, n, protowire.BytesType), m)
	}
	fixed := protowire.AppendFixed32(protowire.AppendTag(nil, 4, protowire.Fixed32Type), 99)
	for _, c := range []struct {
		name string
		m    []byte
		want uint64
		ok   bool
	}{
		{"empty", nil, 0, false},
		{"there", sub(1, appendNumber(nil, 2, 7)), 7, true},
		{"twice, the last counts", append(sub(1, appendNumber(nil, 2, 7)), sub(1, appendNumber(nil, 2, 8))...), 8, true},
		{"another field", sub(1, appendNumber(nil, 3, 7)), 0, false},
		{"of another type", sub(1, appendText(nil, 2, "x")), 0, false},
		{"parent of another type", appendNumber(nil, 1, 7), 0, false},
		{"after others", append(append(fixed, appendText(nil, 9, "x")...), sub(1, appendNumber(nil, 2, 7))...), 7, true},
		{"cut", sub(1, appendNumber(nil, 2, 7))[:3], 0, false},
		{"nonsense behind it", append(sub(1, appendNumber(nil, 2, 7)), 0xff), 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, ok := field(c.m, protowire.VarintType, 1, 2); ok != c.ok || ok && got != c.want {
				t.Errorf("%d, %v", got, ok)
			}
		})
	}
	if got, ok := field(fixed, protowire.Fixed32Type, 4); got != 99 || !ok {
		t.Errorf("fixed: %d, %v", got, ok)
	}
	if s := text(appendText(appendText(nil, 5, "a"), 5, "b"), 5); s != "b" {
		t.Errorf("text %q", s)
	}
	if s := text(appendText(nil, 5, "abc")[:3], 5); s != "" {
		t.Errorf("text %q of a message that was cut", s)
	}
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
