package samples

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Segments become fewer, and each count stays.
func TestCountSegmentsAreMerged(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "index")
	c, err := openCounts(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	for i := range 40 {
		e := countEntry{countKey: countKey{shard: [16]byte{byte(i % 30)}}, first: i % 2, counts: []int64{int64(i)}}
		if err := c.write([]countEntry{e}); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.tidy(); err != nil {
		t.Fatal(err)
	}
	got := map[int]int64{}
	fresh, err := openCounts(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = fresh.Close() }()
	fresh.each(func(s *countSegment) {
		for i := range s.len() {
			e, ok := s.entry(i)
			if !ok {
				t.Fatal("an entry is damaged")
			}
			got[int(e.shard[0])] = e.counts[0]
		}
	})
	for i := range 30 {
		want := int64(i)
		if i < 10 {
			want = int64(i + 30)
		}
		if got[i] != want {
			t.Errorf("shard %d has %d, want %d", i, got[i], want)
		}
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 1 {
		t.Errorf("files %v", names)
	}
}

// Whatever a segment holds, it is counts that can be read or an error.
func FuzzCountSegment(f *testing.F) {
	f.Add(formatCounts([]countEntry{
		{countKey: countKey{shard: [16]byte{1}}, counts: []int64{1, 300, 0}}, {countKey: countKey{shard: [16]byte{1}, rule: [16]byte{2}}, first: 3, counts: []int64{1 << 31}},
	})[countHeader:])
	f.Fuzz(func(t *testing.T, b []byte) {
		whole := formatCounts(nil)
		whole = append(whole, b...)
		reseal(whole, uint32(len(b)/countEntryBytes))
		for n := range uint32(len(b)/countEntryBytes + 2) {
			reseal(whole, n)
			s, err := parseCounts(whole)
			if err != nil {
				continue
			}
			for i := range s.len() {
				if e, ok := s.entry(i); ok {
					s.find(e.countKey, func(countEntry) {})
				}
			}
		}
	})
}

// A golden segment: its bytes are a format that other versions read.
func TestCountSegmentFormat(t *testing.T) {
	b := formatCounts([]countEntry{
		{countKey: countKey{shard: [16]byte{2}, version: [8]byte{3}, rule: [16]byte{4}}, first: 5, counts: []int64{1, 300}},
		{countKey: countKey{shard: [16]byte{1}}, counts: []int64{0}},
	})
	if len(b) != countHeader+2*countEntryBytes+4 || !bytes.HasSuffix(b, []byte{0, 1, 0xac, 2}) {
		t.Fatalf("%x", b)
	}
	s, err := parseCounts(b)
	if err != nil {
		t.Fatal(err)
	}
	if e, ok := s.entry(1); !ok || e.first != 5 || !slices.Equal(e.counts, []int64{1, 300}) {
		t.Errorf("%+v %t", e, ok)
	}
	for i := range b {
		wrong := bytes.Clone(b)
		wrong[i] ^= 1
		if _, err := parseCounts(wrong); err == nil && !(i >= 28 && i < 32) {
			t.Errorf("byte %d may be any", i)
		}
	}
}
