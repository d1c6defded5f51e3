package iterable

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/shardfeed/shardfeed/rule"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shuffle"
)

// What Select writes keeps the rows that the rule keeps, under random rules and without one.
func TestSelect(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 1))
	table := ruledRows(t, r, [][]int{{60, 130, 1}, {40, 40, 40}, {300}, {7, 60, 3, 12, 19}})
	for range 20 {
		var o Options
		times := table.randomRule(t, r, &o)
		d, err := Open(t.Context(), shard.Stores{"mem": table.store}, []string{"mem://data/"}, o)
		if errors.Is(err, ErrNoRow) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		n, err := d.Select(t.Context(), &b)
		if err != nil {
			t.Fatal(err)
		}
		want := int64(0)
		for _, k := range times {
			want += int64(min(k, 1))
		}
		if n != want {
			t.Errorf("%d rows, want %d", n, want)
		}
		d.Close()
		list, err := rule.ParseRowList(b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		kept := open(t, table.store, Options{Choice: Choice{Rows: list}, Order: Order{Tail: shuffle.Short}})
		for _, x := range rest(t, stream(t, kept, shuffle.Worker{}, StreamOptions{BatchSize: 50})) {
			for _, id := range x.ids {
				if times[id] == 0 {
					t.Errorf("row %d is kept", id)
				}
				want--
			}
		}
		if want != 0 {
			t.Errorf("%d rows are missing", want)
		}
	}
}

// Select ends with its context and with the first error, and leaves nothing.
func TestSelectEnds(t *testing.T) {
	table := ruledRows(t, rand.New(rand.NewPCG(4, 2)), [][]int{{60, 130, 1}, {40, 40, 40}, {300}})
	mine, calls := errors.New("mine"), 0
	broken := &failing{Store: table.store}
	broken.fail.Store(&mine)
	store := &swapped{Store: table.store, then: broken}
	d := open(t, store, Options{Choice: Choice{Filters: "score > 0.5"}})
	ctx, cancel := context.WithCancel(t.Context())
	_, err := d.Select(ctx, writerFunc(func(p []byte) (int, error) {
		calls++
		cancel()
		return len(p), nil
	}))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v after %d writes", err, calls)
	}
	if _, err := d.Select(t.Context(), writerFunc(func([]byte) (int, error) { return 0, mine })); !errors.Is(err, mine) {
		t.Errorf("error %v", err)
	}
	store.now.Store(true)
	if _, err := d.Select(t.Context(), new(bytes.Buffer)); !errors.Is(err, mine) || errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
