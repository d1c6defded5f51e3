package iterable

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/shuffle"
)

// listed is a schedule of given loads.
type listed struct{ loads []*load }

func (l *listed) next() (*load, bool) {
	if len(l.loads) == 0 {
		return nil, false
	}
	x := l.loads[0]
	l.loads = l.loads[1:]
	return x, true
}

// wholeGroup is the load of a row group.
func wholeGroup(d *Dataset, group int) *load {
	u := shuffle.Unit{Group: group, Hi: d.sources[0].manifest.Groups()[group].Rows}
	return d.sources[0].sizes.newLoad(u, shuffle.Span{To: u.Rows()}, true)
}

// ahead starts a read-ahead over the row groups of a data set, in order, with room for so many of
// them.
func ahead(t *testing.T, d *Dataset, room int64) (*readahead, []*load) {
	t.Helper()
	var all []*load
	for g := range d.sources[0].manifest.Groups() {
		l := wholeGroup(d, g)
		l.wanted = []wanted{{key: key{span: int32(g)}, rows: int(d.sources[0].manifest.Groups()[g].Rows)}}
		l.est.decode, l.est.scratch = l.est.decode-l.est.scratch, 0 // so that loads take the same memory before and after
		all = append(all, l)
	}
	a, err := mem.NewBudget(0).Reserve(0, mem.Amounts{mem.Fetch: 1 << 30, mem.Decode: room * all[0].est.decode})
	if err != nil {
		t.Fatal(err)
	}
	r := &readahead{manifest: d.sources[0].manifest, account: a, schedule: &listed{loads: all}}
	r.start(t.Context(), 2, 2)
	t.Cleanup(func() {
		r.close()
		for l := range r.loads {
			<-l.ready
			if l.blocks != nil {
				r.releaseBlocks(l.blocks, l.sharedRows(), l.shared)
				r.discharge(l)
			}
		}
		if used := a.Used(); used != (mem.Amounts{}) {
			t.Errorf("still taken: %v", used)
		}
	})
	return r, all
}

func sameGroups(t *testing.T) *Dataset {
	return open(t, files(t, [][]int{{20, 20, 20, 20}, {20, 20, 20, 20}}, noImage), Options{})
}

// Loads are admitted while there is room; one that is needed is admitted without, and no further
// one.
func TestReadAheadStopsWithoutRoom(t *testing.T) {
	r, all := ahead(t, sameGroups(t), 3)
	taken := func() int { return int(r.account.Used()[mem.Decode] / all[0].est.decode) }
	var got []*load
	receive := func() *load {
		t.Helper()
		select {
		case l := <-r.loads:
			<-l.ready
			// What a block takes is measured when it is decoded; here it shall count as foretold.
			if l.err != nil {
				t.Fatal(l.err)
			}
			got = append(got, l)
			return l
		case <-time.After(time.Minute):
			t.Fatal("no load")
			return nil
		}
	}
	for range 3 {
		if l := receive(); l != all[len(got)-1] {
			t.Fatal("loads come in another order than that of the schedule")
		}
	}
	// Estimates are high, so a few more may get ready; then it stops, though bytes are fetched
	// ahead.
	var next *load
	ready := func() bool {
		select {
		case <-next.ready:
			return true
		case <-time.After(50 * time.Millisecond):
			return false
		}
	}
	for next = <-r.loads; ready(); next = <-r.loads {
		got = append(got, next)
	}
	if len(got) >= len(all)-1 {
		t.Fatal("all loads were decoded at once")
	}
	r.want(next.number)
	<-next.ready
	got = append(got, next)
	if next = <-r.loads; ready() && taken() >= 3 {
		t.Error("a load more than was needed")
	}
	for _, l := range got {
		r.releaseBlocks(l.blocks, l.sharedRows(), l.shared)
		l.blocks = nil
		r.discharge(l)
	}
	for { // room was made
		<-next.ready
		r.releaseBlocks(next.blocks, next.sharedRows(), next.shared)
		r.discharge(next)
		if got = append(got, next); len(got) == len(all) {
			return
		}
		next = <-r.loads
	}
}

// Of room that the shuffle buffer leaves, blocks that only wait take no more than they may; what is
// needed comes all the same, and when one is taken the next comes.
func TestReadAheadLeavesRoom(t *testing.T) {
	d := open(t, files(t, [][]int{{5, 5, 5, 5, 5, 5, 5, 5}}, noImage), Options{})
	var all []*load
	for g := range d.sources[0].manifest.Groups() {
		l := wholeGroup(d, g)
		l.wanted = []wanted{{key: key{span: int32(g)}, rows: 5}}
		all = append(all, l)
	}
	a, err := mem.NewBudget(0).Reserve(0, mem.Amounts{mem.Fetch: 1 << 30, mem.Decode: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	r := &readahead{manifest: d.sources[0].manifest, account: a, schedule: &listed{loads: all}, most: 5 * all[0].est.decode / 2}
	b := &buffer{ahead: r}
	r.start(t.Context(), 2, 2)
	ready := func(l *load, want bool) bool {
		within := time.Minute
		if !want {
			within = 50 * time.Millisecond
		}
		select {
		case <-l.ready:
			return true
		case <-time.After(within):
			return false
		}
	}
	got := make([]*load, len(all))
	for i := range got[:5] { // bytes are fetched ahead of blocks
		got[i] = <-r.loads
	}
	for i, want := range []bool{true, true, false} {
		if got[i] != all[i] || ready(got[i], want) != want {
			t.Fatalf("load %d is ready: %t", i, !want)
		}
	}
	r.want(got[3].number)
	for i, want := range []bool{true, true, true, true, false} {
		if ready(got[i], want) != want {
			t.Fatalf("4 are needed, and load %d is ready: %t", i, !want)
		}
	}
	for i, l := range got[:2] {
		b.drop(b.admit(l)[0], 0)
		if ready(got[4], false) {
			t.Fatalf("%d of 4 are taken, and the fifth is ready", i+1)
		}
	}
	for _, l := range got[2:4] {
		b.drop(b.admit(l)[0], 0)
	}
	if !ready(got[4], true) {
		t.Fatal("all that were ready are taken, and no more come")
	}
	r.close()
	for l := range r.loads {
		got = append(got, l)
	}
	for _, l := range got[4:] {
		if l != nil && l.blocks != nil {
			b.drop(b.admit(l)[0], 0)
		}
	}
	if used, early := a.Used(), r.early.Load(); used != (mem.Amounts{}) || early != 0 {
		t.Errorf("still taken: %v; %d bytes are early", used, early)
	}
}

// Closing at any moment leaves nothing behind.
func TestReadAheadCloses(t *testing.T) {
	d := sameGroups(t)
	for i := range 20 {
		r, _ := ahead(t, d, int64(1+i%4))
		time.Sleep(time.Duration(i*50) * time.Microsecond)
		r.close()
	}
}

// A stream that is closed at a random moment, with draws out, leaves no goroutine, no memory and no
// reservation.
func TestCloseAtRandomMoments(t *testing.T) {
	groups, _ := uneven()
	store := files(t, groups, noImage)
	r := rand.New(rand.NewPCG(5, 6))
	for i := range 40 {
		d := open(t, store, Options{Order: Order{Shuffle: i%2 == 0, Lanes: r.IntN(5), Tail: "carry"}, ShuffleBuffer: Size{Rows: 200}})
		s := stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 1 + r.IntN(20), Epochs: -1, Draws: 5})
		var out []*Draw
		for range r.IntN(120) {
			if len(out) == 5 || len(out) > 0 && r.IntN(2) == 0 {
				k := r.IntN(len(out))
				ids(t, d.Schema(), out[k])
				out[k].Release()
				out = append(out[:k], out[k+1:]...)
				continue
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(r.IntN(300))*time.Microsecond)
			dr, err := s.Next(ctx)
			cancel()
			if err == nil {
				out = append(out, dr)
			} else if ctx.Err() == nil {
				t.Fatal(err)
			}
		}
		first := r.IntN(len(out) + 1)
		for _, dr := range out[:first] {
			dr.Release()
		}
		s.Close()
		for _, dr := range out[first:] {
			ids(t, d.Schema(), dr)
			dr.Release()
		}
		if n := d.options.Budget.Admitted(); n != 0 {
			t.Fatalf("%d bytes are still reserved", n)
		}
	}
}
