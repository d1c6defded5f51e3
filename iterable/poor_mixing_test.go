package iterable

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/shuffle"
)

// The buffer that a warning names brings deff down to 2, and no smaller one of whole MiB does.
func TestPoorMixing(t *testing.T) {
	store := pictures(t)
	r := rand.New(rand.NewPCG(5, 6))
	warned := 0
	for range 40 {
		o := Options{Order: Order{Shuffle: true, Seed: r.Uint64(), MaxWorldSize: r.IntN(20), UnitRows: []int64{0, 0, 40}[r.IntN(3)]}, ShuffleBuffer: Size{Rows: 1 + r.Int64N(3000)}}
		ranks, so := 1+r.IntN(6), StreamOptions{BatchSize: 1 + r.IntN(64), Tail: shuffle.Pad}
		t.Run(fmt.Sprintf("%v, %d ranks of %d rows", o.ShuffleBuffer, ranks, so.BatchSize), func(t *testing.T) {
			d := open(t, store, o)
			deff := deffOf(t, d, ranks, so)
			m, err := d.PoorMixing(ranks, so)
			if err != nil || (m != nil) != (deff > 4) {
				t.Fatalf("deff %v: %v, %v", deff, m, err)
			}
			if m == nil {
				return
			}
			warned++
			if (m.Buffer.Per == PerRank) != (ranks > 1) || m.Deff != deff {
				t.Errorf("deff %v: %+v", deff, m)
			}
			o.ShuffleBuffer = m.Buffer
			if got := deffOf(t, open(t, store, o), ranks, so); got > 2 || got != m.BufferDeff {
				t.Errorf("with a buffer of %v deff is %v, said %v", m.Buffer, got, m.BufferDeff)
			}
			if o.ShuffleBuffer.Bytes -= 1 << 20; o.ShuffleBuffer.Bytes > 0 {
				if got := deffOf(t, open(t, store, o), ranks, so); got <= 2 {
					t.Errorf("with a buffer of %v deff is %v already, said %v", o.ShuffleBuffer, got, m.Buffer)
				}
			}
		})
	}
	if warned < 10 || warned > 35 {
		t.Errorf("%d of 40 are warned of", warned)
	}
}

func deffOf(t *testing.T, d *Dataset, ranks int, o StreamOptions) float64 {
	t.Helper()
	p, err := d.Plan(ranks, o)
	if err != nil {
		t.Fatal(err)
	}
	return p.Quality.Deff
}

// plan proposes what the warning says, and no other buffer.
func TestPoorMixingIsProposed(t *testing.T) {
	d := open(t, pictures(t), Options{Order: Order{Shuffle: true}, ShuffleBuffer: Size{Rows: 100}})
	so := StreamOptions{BatchSize: 64, Tail: shuffle.Pad}
	m, err := d.PoorMixing(4, so)
	if err != nil || m == nil {
		t.Fatal(m, err)
	}
	p, err := d.Plan(4, so)
	if err != nil {
		t.Fatal(err)
	}
	all := p.ProposalsSpelled(option.Flag)
	if len(all) != 2 || all[0] != m.Spelled(option.Flag) || strings.Contains(all[1], "--shuffle-buffer") || !strings.Contains(all[1], "--unit-rows") {
		t.Errorf("%q, want %q first", all, m.Spelled(option.Flag))
	}
	want := fmt.Sprintf("a global batch of 256 rows varies %.3g times as much as one of a perfect shuffle (deff): a shuffle_buffer of %v would make it ", m.Deff, m.Buffer)
	if got := m.Spelled(option.Argument); !strings.Contains(got, want) {
		t.Errorf("%q lacks %q", got, want)
	}
}

func TestNoPoorMixing(t *testing.T) {
	so := StreamOptions{BatchSize: 64, Tail: shuffle.Pad}
	for name, d := range map[string]*Dataset{
		"file order":    open(t, pictures(t), Options{}),
		"all rows":      open(t, pictures(t), Options{Order: Order{Shuffle: true}}),
		"sources":       openMixture(t, pictures(t), Options{Sources: pictureSources(), ShuffleBuffer: Size{Rows: 10}}),
		"a batch of 1":  open(t, pictures(t), Options{Order: Order{Shuffle: true}, ShuffleBuffer: Size{Rows: 1000}}),
		"nothing there": open(t, files(t, [][]int{{}}, noImage), Options{Order: Order{Shuffle: true}}),
	} {
		t.Run(name, func(t *testing.T) {
			so := so
			if name == "a batch of 1" {
				so.BatchSize = 1
			}
			if m, err := d.PoorMixing(1, so); err != nil || m != nil {
				t.Errorf("%v, %v", m, err)
			}
		})
	}
}

func TestWarnOfMixingOnce(t *testing.T) {
	var said []*PoorMixing
	d := open(t, pictures(t), Options{Order: Order{Shuffle: true}, ShuffleBuffer: Size{Rows: 100}, Events: Events{PoorMixing: func(m *PoorMixing) { said = append(said, m) }}})
	for range 3 {
		d.WarnOfMixing(4, StreamOptions{BatchSize: 64, Tail: shuffle.Pad})
	}
	if len(said) != 1 || said[0].GlobalBatch != 256 {
		t.Errorf("%v", said)
	}
}
