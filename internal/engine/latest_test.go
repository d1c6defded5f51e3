package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/shardfeed/shardfeed/internal/engine/wire"
)

// Ranks that start an epoch together get one answer, and after an error the next one asks again.
func TestLatest(t *testing.T) {
	e := newEngine(Options{})
	asked, fails := 0, true
	d := &dataset{engine: e, ctx: t.Context(), data: &Data{Latest: func(_ context.Context, of string) (string, error) {
		if asked++; fails {
			return "", errors.New("no answer")
		}
		return fmt.Sprint(of, asked), nil
	}}}
	c := &client{engine: e, group: &group{dataset: d}}
	if _, err := c.latest(wire.Latest{Name: "start 1"}); err == nil {
		t.Error("an error is lost")
	}
	fails = false
	var ranks sync.WaitGroup
	for range 3 {
		ranks.Go(func() {
			if r, err := c.latest(wire.Latest{Name: "start 1", Snapshot: "main"}); err != nil || r.Latest != "main2" {
				t.Errorf("%q, %v", r.Latest, err)
			}
		})
	}
	ranks.Wait()
	if r, err := c.latest(wire.Latest{Name: "start 2"}); err != nil || r.Latest != "3" {
		t.Errorf("%q, %v", r.Latest, err)
	}
	d.data.Latest = nil
	if _, err := c.latest(wire.Latest{Name: "start 3"}); err == nil {
		t.Error("no error without tables")
	}
}
