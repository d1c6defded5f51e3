package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/process"

	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/term"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/mem"
)

func TestExamine(t *testing.T) {
	footer := "meta" + "\x04\x00\x00\x00" + "PAR1"
	cases := []struct {
		name, content, problem string
	}{
		{"good", "PAR1....." + footer, ""},
		{"encrypted footer", "PARE....." + "meta\x04\x00\x00\x00PARE", ""},
		{"short", "PAR1", "4 bytes are too few for a parquet file"},
		{"cut off", "PAR1.....metameta", `it ends with "meta": not a parquet file, or only a part of one`},
		{"large footer", "PAR1" + "\xff\xff\xff\x7f" + "PAR1", "its footer of 2147483647 bytes is larger than the file"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			store := &mem.Store{}
			store.Put("t/a.parquet", []byte(c.content))
			p := examine(context.Background(), shard.Stores{"mem": store}, "mem://t", "")
			if p.Shards != 1 || p.Bytes != int64(len(c.content)) {
				t.Errorf("got %d shards of %d bytes", p.Shards, p.Bytes)
			}
			want := ""
			if c.problem != "" {
				want = "mem://t/a.parquet: corrupt: " + c.problem
			}
			if p.Problem != want || (p.problem == nil) != (want == "") {
				t.Errorf("got problem %q, want %q", p.Problem, want)
			}
			if want == "" && (p.Footer <= 0 || p.Range <= 0 || p.RangeBytes != int64(len(c.content))) {
				t.Errorf("not timed: %+v", p)
			}
		})
	}
}

func TestExaminePartitions(t *testing.T) {
	store := &mem.Store{}
	store.Put("t/dt=2026-01-01/site=a/x.parquet", []byte("PAR1meta\x04\x00\x00\x00PAR1"))
	p := examine(context.Background(), shard.Stores{"mem": store}, "mem://t", "")
	if p.problem != nil || strings.Join(p.Partitions, ",") != "dt,site" {
		t.Errorf("got %v", p)
	}
}

func TestExamineNothing(t *testing.T) {
	p := examine(context.Background(), shard.Stores{"mem": &mem.Store{}}, "mem://t", "")
	if !errors.Is(p.problem, shard.ErrNotExist) || p.Problem != p.problem.Error() || p.Shards != 0 {
		t.Errorf("got %+v", p)
	}
}

// What a store says about how it reaches an address is printed, also if the list fails.
func TestExamineFacts(t *testing.T) {
	r := &term.Report{}
	examine(context.Background(), shard.Stores{"x": explained{Store: &mem.Store{}}}, "x://secret@host/t", "").report(r)
	var b strings.Builder
	if err := r.Print(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"endpoint             http://host\n", "more                 cannot be told: it is asleep\n", "problem "} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("got %s, want %q", b.String(), want)
		}
	}
}

// explained is a store that tells a fact and fails.
type explained struct {
	shard.Store
	shard.Remote
}

func (explained) Explain(context.Context, string) ([]shard.Fact, error) {
	return []shard.Fact{{Name: "endpoint", Value: "http://host"}}, errors.New("it is asleep")
}

func TestMedian(t *testing.T) {
	if got := median([]float64{9, 1, 3}); got != 3 {
		t.Errorf("got %v", got)
	}
	if got := median(nil); got != 0 {
		t.Errorf("got %v", got)
	}
}

func TestProcessUsage(t *testing.T) {
	user, system := process.CPUTime()
	for begin := time.Now(); time.Since(begin) < 20*time.Millisecond; {
		_ = strings.Repeat("x", 1000)
	}
	userEnd, systemEnd := process.CPUTime()
	if userEnd+systemEnd <= user+system {
		t.Error("the processor time stands still")
	}
	if peak := process.PeakRSS(); peak < 1<<20 || peak > 1<<40 {
		t.Errorf("peak of %d bytes", peak)
	}
}
