package rule

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// Each damage is an error.
func TestParseRowListRefuses(t *testing.T) {
	m := listManifest([]int64{100, 50}, []int64{30})
	good := rowsFile(t, m, func(_ int, row int64) bool { return row%3 == 0 })
	for i := range good {
		if _, err := ParseRowList(good[:i]); err == nil {
			t.Fatalf("the first %d of %d bytes are accepted", i, len(good))
		}
		bad := slices.Clone(good)
		bad[i] ^= 1
		if _, err := ParseRowList(bad); err == nil {
			t.Fatalf("byte %d of %d can change", i, len(good))
		}
	}
	for _, c := range []struct{ name, body, says string }{
		{"no shards stated", "", "cut short"},
		{"more follows", "\x00\x00\x00", "1 bytes follow"},
		{"shards that are missing", "\x00\x05", "cut short"},
		{"a path beyond the end", "\x00\x01\x7f", "127 bytes are stated"},
		{"paths twice", "\x00\x02" + "\x01a\x00\x00\x00" + "\x01a\x00\x00\x00", "does not sort after"},
		{"an unknown form", "\x00\x01\x01a\x00\x00\x01" + "\x08\x09\x00", "form 9 is not known"},
		{"a bitmap of another length", "\x00\x01\x01a\x00\x00\x01" + "\x09\x02\x01\x00", "1 bytes for 9 rows"},
		{"bits beyond the rows", "\x00\x01\x01a\x00\x00\x01" + "\x04\x02\x01\x10", "beyond the end"},
		{"a gap beyond the rows", "\x00\x01\x01a\x00\x00\x01" + "\x04\x03\x01\x04", "beyond the end"},
		{"gaps beyond the rows", "\x00\x01\x01a\x00\x00\x01" + "\x04\x04\x03\x01\x00\x01", "beyond the end"},
		{"a run beyond the rows", "\x00\x01\x01a\x00\x00\x01" + "\x04\x05\x02\x01\x04", "beyond the end"},
		{"half a run", "\x00\x01\x01a\x00\x00\x01" + "\x04\x05\x01\x01", "beyond the end"},
		{"an empty run", "\x00\x01\x01a\x00\x00\x01" + "\x04\x05\x04\x00\x01\x00\x01", "beyond the end"},
		{"too many rows", "\x00\x01\x01a\x00\x00\x01" + "\x81\x80\x80\x80\x80\x40\x01", "is more than"},
		{"a number without end", "\x00\x01\x01a" + strings.Repeat("\xff", 11), "too large"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ParseRowList(withDigest([]byte(rowsMagic + c.body)))
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v", err)
			}
		})
	}
	if _, err := ParseRowList([]byte("id\n1\n2\n")); err == nil || !strings.HasPrefix(err.Error(), "Rows is not a rows file of version 1") {
		t.Errorf("%v", err)
	}
}

// withDigest adds the digest that makes a file whole.
func withDigest(b []byte) []byte {
	sum := sha256.Sum256(b)
	return append(b, sum[:]...)
}

var errTest = errors.New("a test's error")

type brokenWriter struct{ room int }

func (w *brokenWriter) Write(p []byte) (int, error) {
	if w.room -= len(p); w.room < 0 {
		return 0, errTest
	}
	return len(p), nil
}

// Errors of the writer and of the rows come back, wherever they happen.
func TestWriteRowListFails(t *testing.T) {
	m := listManifest([]int64{100, 50}, []int64{30})
	all := func(int, []uint64) error { return nil }
	size := len(rowsFile(t, m, func(int, int64) bool { return false }))
	for room := range size {
		if err := WriteRowList(&brokenWriter{room: room}, m, all); !errors.Is(err, errTest) {
			t.Fatalf("with room for %d of %d bytes: %v", room, size, err)
		}
	}
	if err := WriteRowList(io.Discard, m, func(group int, _ []uint64) error {
		if group == 1 {
			return errTest
		}
		return nil
	}); !errors.Is(err, errTest) {
		t.Errorf("%v", err)
	}
	m.Shards[0].Path = "z"
	if err := WriteRowList(io.Discard, m, all); err == nil {
		t.Error("shards out of order are written")
	}
	if err := WriteRowList(io.Discard, listManifest([]int64{maxGroupRows + 1}), all); err == nil {
		t.Error("a row group that no reader takes is written")
	}
}

// Whatever the bytes are, they are refused or can be asked for all their rows, and written again.
func FuzzParseRowList(f *testing.F) {
	r := rand.New(rand.NewPCG(4, 4))
	for _, keep := range patterns(r) {
		data := rowsFile(f, listManifest([]int64{70, 0, 9}, nil, []int64{300}), keep)
		f.Add(data[len(rowsMagic) : len(data)-sha256.Size])
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		l, err := ParseRowList(withDigest(append([]byte(rowsMagic), body...)))
		if err != nil {
			return
		}
		var rows int64
		for _, g := range l.manifest.Groups {
			rows += g.Rows
		}
		if rows > 1<<20 {
			return // a few bytes may state 2^40 rows that are all kept
		}
		k := matched(t, l, l.manifest, "")
		kept := func(group int, bits []uint64) error {
			n := l.manifest.Groups[group].Rows
			copy(bits, allRows(n))
			k.And(group, 0, n, bits)
			if countBits(bits) != k.Count(group, 0, n) {
				t.Fatalf("group %d: %d rows are kept, %d counted", group, countBits(bits), k.Count(group, 0, n))
			}
			if half := n / 2; k.Count(group, 0, half)+k.Count(group, half, n) != countBits(bits) {
				t.Fatalf("group %d: its halves have %d and %d rows of %d", group, k.Count(group, 0, half), k.Count(group, half, n), countBits(bits))
			}
			return nil
		}
		var again, third bytes.Buffer
		if err := WriteRowList(&again, l.manifest, kept); err != nil {
			t.Fatal(err)
		}
		if l, err = ParseRowList(again.Bytes()); err != nil {
			t.Fatal(err)
		}
		k = matched(t, l, l.manifest, "")
		if err := WriteRowList(&third, l.manifest, kept); err != nil || !bytes.Equal(again.Bytes(), third.Bytes()) {
			t.Fatalf("%v: %x became %x", err, again.Bytes(), third.Bytes())
		}
	})
}
