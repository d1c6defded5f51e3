package footer

import (
	"context"
	"errors"
	"testing"
)

func TestTailGuess(t *testing.T) {
	var g tailGuess
	is := func(what string, size, want int64) {
		t.Helper()
		if got := g.bytes(size); got != want {
			t.Errorf("%s: %d bytes of %d, want %d", what, got, size, want)
		}
	}
	is("at first", 1<<30, firstTail)
	is("small", 5000, 5000)
	for range tailsSeen {
		g.learn(3000, 0)
	}
	is("small footers", 1<<30, leastTail)
	g.learn(3000, 17000)
	is("with a page index", 1<<30, 24<<10)
	g.learn(100<<10, 0)
	is("a larger one", 1<<30, 128<<10)
	g.learn(3000, 5<<20)
	is("a page index far away", 1<<30, 128<<10)
	g.learn(5<<20, 5<<20)
	is("a huge one", 1<<30, largestTail)
	is("a huge one of a small file", 100<<10, 100<<10)
}

// The others do not wait long for the first, nor beyond their context.
func TestTailGuessWaits(t *testing.T) {
	g := tailGuess{dear: true}
	n, end, err := g.begin(t.Context(), 1<<30)
	if n != largestTail || err != nil {
		t.Errorf("the first reads %d bytes, error %v", n, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := g.begin(ctx, 1<<30); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if n, _, err = g.begin(t.Context(), 1<<30); n != firstTail || err != nil {
		t.Errorf("who has waited reads %d bytes, error %v", n, err)
	}
	g.learn(200<<10, 0)
	end()
	if n, _, err = g.begin(t.Context(), 1<<30); n != 252<<10 || err != nil {
		t.Errorf("after the first: %d bytes, error %v", n, err)
	}
}
