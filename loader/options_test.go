package loader

import (
	"strings"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/shuffle"
)

func TestOptionsRefuses(t *testing.T) {
	for _, c := range []struct {
		name string
		o    Options
		want []string // one for each problem
	}{
		{"batch size", Options{BatchSize: -2}, []string{"loader: batch_size should be a positive integer value, but got batch_size=-2"}},
		{"drop last and tail", Options{DropLast: true, Tail: shuffle.Pad}, []string{`loader: drop_last option is mutually exclusive with tail "pad"`}},
		{"tail", Options{Tail: "cut"}, []string{`shuffle: tail: "cut" is none of "drop", "pad", "short", "carry"`}},
		{"workers", Options{Workers: -1}, []string{"loader: num_workers option should be non-negative; use num_workers=0 to disable background collation, but got num_workers=-1"}},
		{"prefetch", Options{Workers: 1, PrefetchFactor: -1}, []string{"loader: prefetch_factor option should be non-negative, but got prefetch_factor=-1"}},
		{"prefetch without workers", Options{PrefetchFactor: 2}, []string{"loader: prefetch_factor option could only be specified with workers; let num_workers > 0 or leave prefetch_factor out"}},
		{"unordered without workers", Options{Unordered: true}, []string{"loader: in_order=False could only be specified with workers; let num_workers > 0 or leave in_order out"}},
		{"timeout", Options{Timeout: -time.Second}, []string{"loader: timeout option should be non-negative, but got timeout=-1s"}},
		{"rank", Options{Rank: 2, WorldSize: 2}, []string{"loader: invalid rank 2, rank should be in the interval [0, 1]"}},
		{"rank alone", Options{Rank: 1}, []string{"loader: invalid rank 1, rank should be in the interval [0, 0]"}},
		{"world size", Options{WorldSize: -1}, []string{"loader: world_size should be a positive integer value, but got world_size=-1"}},
		{"state and epoch", Options{State: &shuffle.State{}, Epoch: 1}, []string{"loader: state option is mutually exclusive with epoch"}},
		{"state and drop last", Options{State: &shuffle.State{Params: &shuffle.Params{Tail: shuffle.Carry}}, DropLast: true}, []string{
			`loader: the state has the tail "carry", and tail "drop" contradicts it`,
		}},
		{"epoch and prefetch", Options{Epoch: -1, Workers: 1, PrefetchFactor: -1}, []string{
			"loader: prefetch_factor option should be non-negative, but got prefetch_factor=-1", "loader: epoch should be non-negative, but got epoch=-1",
		}},
		{"max batches", Options{MaxBatches: -1}, []string{"loader: max_batches should be a positive integer value, but got max_batches=-1"}},
		{"max batches for the workers alone", Options{MaxBatches: 2, Workers: 2}, []string{"loader: max_batches=2 leaves none for the consumer when num_workers=2 are at work; let it be greater"}},
		{"transform", Options{Transforms: []Transform{{Name: "flip"}}}, []string{"loader: transform 0 (flip) has no function"}},
		{"pad", Options{Pad: []Padding{{Column: "x", Multiple: -1, Max: -1, Side: 2, Cut: 3}}}, []string{
			`loader: pad "x": multiple should be a positive integer value, but got -1`, `loader: pad "x": max should be a positive integer value, but got -1`,
			`loader: pad "x": no such side: 2`, `loader: pad "x": no such side to cut: 3`,
		}},
		{"pad to max", Options{Pad: []Padding{{ToMax: true}}}, []string{`loader: pad "": no column is named`, `loader: pad "": padding to the maximum needs a max`}},
		{"pad multiple", Options{Pad: []Padding{{Column: "x", Max: 100, Multiple: 64}}}, []string{`loader: pad "x": max 100 is not a multiple of 64`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.o.Validate()
			if err == nil || err.Error() != strings.Join(c.want, "\n") {
				t.Errorf("got  %v\nwant %s", err, strings.Join(c.want, "\n"))
			}
		})
	}
}

func TestOptionsDefaults(t *testing.T) {
	if err := (Options{}).Validate(); err != nil {
		t.Fatal(err)
	}
	o := Options{}.withDefaults()
	if o.BatchSize != 1 || o.WorldSize != 1 || o.Epochs != 1 || o.PrefetchFactor != 0 || o.MaxBatches != 2 || o.Tail != shuffle.Short {
		t.Errorf("got %+v", o)
	}
	o = Options{Workers: 3}.withDefaults()
	if o.PrefetchFactor != 2 || o.MaxBatches != 8 {
		t.Errorf("got %+v", o)
	}
}

func TestOptionsTail(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want shuffle.Tail
	}{
		{Options{}, shuffle.Short},
		{Options{WorldSize: 1}, shuffle.Short},
		{Options{WorldSize: 2}, shuffle.Pad},
		{Options{WorldSize: 2, DropLast: true}, shuffle.Drop},
		{Options{DropLast: true}, shuffle.Drop},
		{Options{DropLast: true, Tail: shuffle.Drop}, shuffle.Drop},
		{Options{Tail: shuffle.Carry}, shuffle.Carry},
		{Options{Tail: shuffle.Short, WorldSize: 2}, shuffle.Short},
		{Options{State: &shuffle.State{Params: &shuffle.Params{Tail: shuffle.Carry}}}, shuffle.Carry},
		{Options{State: &shuffle.State{Params: &shuffle.Params{Tail: shuffle.Short}}, WorldSize: 2}, shuffle.Pad},
		{Options{State: &shuffle.State{}}, shuffle.Short},
	} {
		if got := c.o.tail(); got != c.want {
			t.Errorf("world size %d, drop last %t: got %s, want %s", c.o.WorldSize, c.o.DropLast, got, c.want)
		}
	}
}
