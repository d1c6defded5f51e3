package iterable

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/shuffle"
)

func TestBufferPerRankAndNode(t *testing.T) {
	cases := []struct {
		size          Size
		ranks, local  int
		rows, bytes   int64
		refused, text string
	}{
		{size: Size{Rows: 100}, ranks: 8, local: 4, rows: 100},
		{size: Size{Bytes: 1 << 20}, ranks: 8, bytes: 1 << 20},
		{size: Size{Rows: 100, Per: PerRank}, ranks: 8, rows: 800},
		{size: Size{Bytes: 1 << 20, Per: PerRank}, ranks: 8, local: 3, bytes: 8 << 20},
		{size: Size{Rows: 100, Per: PerNode}, ranks: 8, local: 4, rows: 200},
		{size: Size{Bytes: 1 << 20, Per: PerNode}, ranks: 8, local: 8, bytes: 1 << 20},
		{size: Size{Rows: 100, Per: PerNode}, ranks: 1, rows: 100},
		{size: Size{Rows: 100, Per: PerNode}, ranks: 1, local: 8, rows: 100}, // each of the node's ranks reads all rows
		{size: Size{Rows: 1 << 49, Per: PerRank}, ranks: 1 << 15, rows: option.MaxRows},
		{size: Size{Rows: 100, Per: PerNode}, ranks: 8, refused: "ShuffleBuffer 100/node needs to know how many of the 8 ranks a node has: set LOCAL_WORLD_SIZE"},
		{size: Size{Bytes: 8 << 30, Per: PerNode}, ranks: 12, local: 8, refused: "8GiB/node needs nodes of equally many ranks, and 12 ranks do not fill nodes of 8: give a size per rank"},
		{size: Size{Bytes: 8 << 30, Per: PerNode}, ranks: 4, local: 8, refused: "4 ranks do not fill nodes of 8"},
	}
	for _, c := range cases {
		t.Run(fmt.Sprintf("%v of %d ranks, %d here", c.size, c.ranks, c.local), func(t *testing.T) {
			got, err := c.size.total(c.ranks, c.local)
			if c.refused != "" {
				wrong := (*OptionError)(nil)
				if !errors.As(err, &wrong) || wrong.Field != "ShuffleBuffer" || !strings.Contains(err.Error(), c.refused) {
					t.Fatalf("got %v, want %q", err, c.refused)
				}
				return
			}
			if err != nil || got != (shuffle.BufferSize{Rows: c.rows, Bytes: c.bytes, WorldSize: c.ranks}) {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

// The order is that of the product, and a state keeps it: a resume on another world size goes on
// in the same order.
func TestBufferPerRankIsKeptByState(t *testing.T) {
	store := pictures(t)
	all := Options{Order: Order{Shuffle: true, Seed: 3, Tail: shuffle.Short}, ShuffleBuffer: Size{Rows: 1200}}
	each := all
	each.ShuffleBuffer = Size{Rows: 300, Per: PerRank}
	node := all
	node.ShuffleBuffer = Size{Rows: 600, Per: PerNode}
	const ranks = 4
	want, err := open(t, store, all).Start(ranks, StreamOptions{BatchSize: 8})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []Options{each, node} {
		t.Run(o.ShuffleBuffer.String(), func(t *testing.T) {
			d := open(t, store, o)
			so := StreamOptions{BatchSize: 8, LocalWorldSize: 2}
			state, err := d.Start(ranks, so)
			if err != nil || *state.Params != *want.Params {
				t.Fatalf("got %+v, %v, want %+v", state.Params, err, want.Params)
			}
			other, err := d.Start(2, so)
			if err != nil || other.Params.Buffer == want.Params.Buffer {
				t.Fatalf("2 ranks: a buffer of %d rows, %v", other.Params.Buffer, err)
			}
			so.State, so.LocalWorldSize = &state, 0
			if resumed, err := d.Start(2, so); err != nil || *resumed.Params != *want.Params {
				t.Errorf("resumed on 2 ranks: %+v, %v, want %+v", resumed.Params, err, want.Params)
			}
		})
	}
}

func TestMixtureBufferPerRank(t *testing.T) {
	buffer := func(size Size) int64 {
		d := openMixture(t, pictures(t), Options{Sources: pictureSources(), ShuffleBuffer: size})
		r, err := d.orderOf(4, StreamOptions{BatchSize: 8}.withDefaults(d), 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		return r.buffer()
	}
	if got, want := buffer(Size{Rows: 300, Per: PerRank}), buffer(Size{Rows: 1200}); got != want {
		t.Errorf("4 ranks of 300 rows: %d rows, want %d", got, want)
	}
}

func TestBufferPerNothing(t *testing.T) {
	for text, o := range map[string]Options{
		`ShuffleBuffer.Per must be rank or node, got "gpu"`: {Order: Order{Shuffle: true}, ShuffleBuffer: Size{Rows: 1, Per: "gpu"}},
		"needs a number of rows or bytes":                   {Order: Order{Shuffle: true}, ShuffleBuffer: Size{Per: PerRank}},
	} {
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("got %v, want %q", err, text)
		}
	}
}

// Bare numbers are rows.
func TestParseSize(t *testing.T) {
	cases := []struct {
		text string
		want Size // zero: refused
	}{
		{"100000", Size{Rows: 100000}},
		{"512MiB", Size{Bytes: 512 << 20}},
		{"1GiB/rank", Size{Bytes: 1 << 30, Per: PerRank}},
		{"8 GiB / Node", Size{Bytes: 8 << 30, Per: PerNode}},
		{"100b", Size{Bytes: 100}},
		{"0", Size{}},
		{"0MiB", Size{}},
		{"20000/rank", Size{Rows: 20000, Per: PerRank}},
		{"0/rank", Size{}},
		{"1GiB/", Size{}},
		{"1GiB/gpu", Size{}},
		{"1GiB/rank/node", Size{}},
		{"/rank", Size{}},
		{"many", Size{}},
	}
	for _, c := range cases {
		got, err := ParseSize(c.text)
		if got != c.want || (err != nil) != (c.want == Size{}) {
			t.Errorf("%q: got %+v (%v), want %+v", c.text, got, err, c.want)
		}
	}
}
