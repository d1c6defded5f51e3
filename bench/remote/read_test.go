package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// counting is a way whose shards hold the low byte of each position.
type counting struct {
	readers int
	reads   atomic.Int64
	fail    string // address that cannot be read
}

var errFailed = errors.New("failed")

func (c *counting) Close() error { return nil }

func (c *counting) reader(context.Context) (reader, error) {
	c.readers++
	return func(_ context.Context, uri string, b []byte, off int64) error {
		if uri == c.fail {
			return errFailed
		}
		c.reads.Add(1)
		for i := range b {
			b[i] = byte(off) + byte(i)
		}
		return nil
	}, nil
}

var three = []piece{{"a", 0, 10}, {"b", 5, 300}, {"a", 10, 20}}

func TestReadAll(t *testing.T) {
	sums := map[uint32]bool{}
	for _, n := range []int{1, 2, 8} {
		var w counting
		r, err := readAll(t.Context(), &w, readFlags{inFlight: n, check: true}, three)
		if err != nil {
			t.Fatal(err)
		}
		if w.readers != n || w.reads.Load() != 3 || r.Bytes != 330 || r.Ranges != 3 || r.BufferBytes < 300 || r.BufferBytes > 330 {
			t.Errorf("%d at once: %d readers, %d reads, %+v", n, w.readers, w.reads.Load(), r)
		}
		sums[r.CRC] = true
	}
	if len(sums) != 1 {
		t.Errorf("the checksum depends on how many read: %v", sums)
	}
}

func TestReadAllFails(t *testing.T) {
	_, err := readAll(t.Context(), &counting{fail: "b"}, readFlags{inFlight: 2}, three)
	if !errors.Is(err, errFailed) || !strings.Contains(err.Error(), "300 bytes from 5 of b") {
		t.Error(err)
	}
}

func TestReadPieces(t *testing.T) {
	for _, c := range []struct{ text, wrong string }{
		{"s3://b/k\t1\t2\ns3://b/l\t0\t1\ns3://b/k\t9\t7\n", ""},
		{"s3://b/k\t1\t2\ns3://b/l\t0\t1\ns3://b/k\t9\t7", ""},
		{"", "no ranges"},
		{"\n", `"" is no address, offset and length`},
		{"x\t1\n", "is no address, offset and length"},
		{"x\t1\t2\t3\n", "is no address, offset and length"},
		{"x\t-1\t1\n", "is no range"},
		{"x\t0\t0\n", "is no range"},
		{"x\t0\ty\n", "is no range"},
	} {
		path := filepath.Join(t.TempDir(), "ranges")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		pieces, err := readPieces(path)
		if c.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%s: %v, want %q", c.text, err, c.wrong)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(uris(pieces), " "); got != "s3://b/k s3://b/l" {
			t.Errorf("addresses %s", got)
		}
	}
}

func TestRunUsage(t *testing.T) {
	for _, args := range []string{"", "nothing", "read --way nothing --ranges " + os.DevNull, "put", "read --in-flight x"} {
		if err := run(t.Context(), strings.Fields(args)); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}
