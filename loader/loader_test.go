package loader

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
)

func TestBusy(t *testing.T) {
	l, opened := fakeLoader(t, Options{Workers: 1}, 20, nil)
	for b, err := range l.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		b.Release()
		if _, err := steps(t.Context(), l); !errors.Is(err, ErrBusy) {
			t.Errorf("got %v", err)
		}
		break
	}
	nothingLeft(t, l, *opened)
	if _, err := steps(t.Context(), l); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v", err)
	}
}

func TestCloseDuringIteration(t *testing.T) {
	eachShape(t, func(t *testing.T, o Options) {
		hangs := make(chan struct{})
		l, opened := fakeLoader(t, o, 1000, func(s *fakeStream) { s.hangAt, s.hangs = 5, hangs })
		var wg sync.WaitGroup
		var last error
		wg.Go(func() { _, last = steps(context.Background(), l) })
		<-hangs
		if err := l.Close(); err != nil && !strings.Contains(err.Error(), "not released") {
			t.Error(err)
		}
		wg.Wait()
		if !errors.Is(last, ErrClosed) {
			t.Errorf("the consumer got %v", last)
		}
		nothingLeft(t, l, *opened)
	})
}

func TestCloseNamesBatches(t *testing.T) {
	l, _ := fakeLoader(t, Options{MaxBatches: 3}, 3, nil)
	var held []*Batch
	for b := range l.Batches(t.Context()) {
		held = append(held, b)
	}
	if err := l.Close(); err == nil || err.Error() != "loader: closed with 3 batches not released" {
		t.Errorf("got %v", err)
	}
	if err := l.Close(); err != nil {
		t.Errorf("the second Close: %v", err)
	}
	for _, b := range held {
		b.Release()
	}
	if n := l.pool.Stats().InUse; n != 0 {
		t.Errorf("%d bytes are in use", n)
	}
}
