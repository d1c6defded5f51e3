package engine

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/shardfeed/shardfeed/internal/engine/wire"
)

// Connections that ask for the same share one open data set, which is closed with the last of them;
// others have their own.
func TestOpenShares(t *testing.T) {
	var open, closed atomic.Int64
	e := testEngine(t, Options{Open: func(ctx context.Context, r Request, p func(wire.Progress)) (*Data, error) {
		open.Add(1)
		d, err := shop(ctx, r, p)
		d.Close = func(context.Context) error {
			closed.Add(1)
			return errors.New("trouble")
		}
		return d, err
	}})
	other := testSpec()
	other.Seed = 8
	a, b, c := connect(t, e, "a", testSpec()), connect(t, e, "b", testSpec()), connect(t, e, "a", other)
	again, _, err := e.open(t.Context(), wire.Hello{}, wire.Open{Dataset: "a", Spec: other, Opening: "2"}, func(wire.Progress) {})
	if err != nil || again.(*client).group.dataset == c.group.dataset || open.Load() != 3 {
		t.Fatalf("%d were opened, %v", open.Load(), err)
	}
	again.close()
	until(t, "closed", func() bool { return closed.Load() == 1 })
	open.Add(-1)
	closed.Add(-1)
	if a.group.dataset != b.group.dataset || a.group == b.group || c.group.dataset == a.group.dataset || open.Load() != 2 {
		t.Errorf("%d were opened", open.Load())
	}
	a.close()
	a.close()
	b.close()
	until(t, "closed", func() bool { return closed.Load() == 1 })
	c.close()
	until(t, "closed", func() bool { return closed.Load() == 2 })
	connect(t, e, "a", testSpec())
	if open.Load() != 3 {
		t.Errorf("%d were opened", open.Load())
	}
}

// A later note reaches the trainers that read, and no others.
func TestOpenNotes(t *testing.T) {
	var note func(string)
	e := testEngine(t, Options{Open: func(ctx context.Context, r Request, p func(wire.Progress)) (*Data, error) {
		note = r.Note
		return shop(ctx, r, p)
	}})
	all := workers(t, e, "d", 2)
	joinAll(all, "0", nil)
	idle := newSink(t, connect(t, e, "d", testSpec()))
	all[0].batches(1)
	note("the disk is full")
	for _, s := range all {
		if n := <-s.noted; n.Text != "the disk is full" || n.Level != "warning" || n.Once != n.Text {
			t.Errorf("noted %+v", n)
		}
	}
	if len(idle.noted) > 0 {
		t.Error("who reads nothing is told")
	}
}

// All who wait hear how far opening is, and its error, which is not kept; when all have gone it is
// given up.
func TestOpenWaits(t *testing.T) {
	proceed, given := make(chan error, 1), make(chan struct{})
	var tell func(wire.Progress)
	begun := make(chan struct{}, 10)
	e := testEngine(t, Options{Open: func(ctx context.Context, r Request, p func(wire.Progress)) (*Data, error) {
		tell = p
		begun <- struct{}{}
		select {
		case err := <-proceed:
			if err != nil {
				return nil, err
			}
			return shop(ctx, r, p)
		case <-ctx.Done():
			close(given)
			return nil, context.Cause(ctx)
		}
	}})
	var heard atomic.Int64
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	errs := make([]error, 2)
	wait := func() (group *sync.WaitGroup) {
		group = &sync.WaitGroup{}
		for i := range errs {
			group.Go(func() {
				var s handler
				if s, _, errs[i] = e.open(ctx, wire.Hello{}, wire.Open{Spec: testSpec()}, func(wire.Progress) { heard.Add(1) }); errs[i] == nil {
					s.close()
				}
			})
		}
		<-begun
		until(t, "both wait", func() bool {
			e.mu.Lock()
			defer e.mu.Unlock()
			for _, d := range e.datasets {
				return len(d.watchers) == 2
			}
			return false
		})
		return group
	}
	group := wait()
	tell(wire.Progress{Footers: 1})
	broken := errors.New("broken")
	proceed <- broken
	group.Wait()
	if heard.Load() != 2 || errs[0] != broken || errs[1] != broken {
		t.Errorf("%d heard, %v", heard.Load(), errs)
	}
	group = wait()
	proceed <- nil
	group.Wait()
	if errs[0] != nil || errs[1] != nil {
		t.Errorf("%v", errs)
	}
	group = wait()
	cancel(broken)
	group.Wait()
	<-given
	if errs[0] != broken {
		t.Errorf("%v", errs)
	}
	e = testEngine(t, Options{Open: func(_ context.Context, _ Request, p func(wire.Progress)) (*Data, error) {
		p(wire.Progress{Footers: 7})
		close(begun)
		<-proceed
		panic("at the disco")
	}})
	begun = make(chan struct{})
	first := make(chan error)
	go func() {
		_, _, err := e.open(t.Context(), wire.Hello{}, wire.Open{Spec: testSpec()}, func(wire.Progress) {})
		first <- err
	}()
	<-begun
	late := make(chan wire.Progress, 1)
	go func() {
		_, _, err := e.open(t.Context(), wire.Hello{}, wire.Open{Spec: testSpec()}, func(p wire.Progress) { late <- p })
		first <- err
	}()
	if p := <-late; p.Footers != 7 {
		t.Errorf("who comes late is told %+v", p)
	}
	proceed <- nil
	for range 2 {
		if f := wire.FailureOf(<-first); f.Kind != wire.KindInternal || f.Text != "panic: at the disco" {
			t.Errorf("%+v", f)
		}
	}
	if _, _, err := e.open(t.Context(), wire.Hello{}, wire.Open{}, nil); wire.FailureOf(err).Kind != wire.KindValue {
		t.Errorf("no address: %v", err)
	}
}
