package engine

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/shardfeed/shardfeed/audit"
	"github.com/shardfeed/shardfeed/internal/engine/wire"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A node has a verdict on its own ranks, and the last node one on all.
func TestAuditsOfNodes(t *testing.T) {
	node := func(ranks ...int) wire.Audit {
		a := wire.Audit{Epoch: 2, To: 400, State: shuffle.State{Rows: 400}, Ranks: ranks}
		for _, rank := range ranks {
			a.Records = append(a.Records, audit.Record{Epoch: 2, World: 4, Rank: rank, To: 400, Sum: audit.Sum{Rows: 99}})
		}
		return a
	}
	var s audits
	add := func(a wire.Audit) (*wire.Audited, *wire.Audit) {
		t.Helper()
		v, here, err := s.add(nil, "rows", a, 4, 2)
		if err != nil {
			t.Fatal(err)
		}
		return v, here
	}
	for range 2 { // the second time the epoch is repeated
		if v, here := add(node(0)); v != nil || here != nil {
			t.Errorf("after the first rank: %+v, %+v", v, here)
		}
		v, here := add(node(1))
		if v == nil || v.Ranks != 2 || v.Of != 4 || v.Proved || !slices.Equal(here.Ranks, []int{0, 1}) || len(here.Records) != 2 {
			t.Errorf("after the second: %+v, %+v", v, here)
		}
		v, here = add(node(0, 1, 2, 3))
		if v == nil || v.Ranks != 4 || len(v.Faults) == 0 || len(here.Records) != 4 {
			t.Errorf("of all nodes: %+v, %+v", v, here)
		}
	}
	for epoch := range uint64(3 * mostAudits) {
		a := node(0)
		a.Epoch = epoch
		add(a)
	}
	if len(s.open) != mostAudits || s.open[auditKey{epoch: 3*mostAudits - 1, world: 4}] == nil {
		t.Errorf("%d epochs are open", len(s.open))
	}
}

// sum reads what a batch adds to the audit, behind its descriptors.
func (b *clientBatch) sum() audit.Sum {
	at := b.slotBytes[int(b.Offset)+headSize+len(b.nodes)*nodeSize:]
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(at[8*i:]) }
	return audit.Sum{Rows: int64(word(0)), Lost: int64(word(1)), Padded: int64(word(2)), Hash: word(3)}
}

// The last rank of an epoch gets the verdict: each row came once, or a batch was skipped.
func TestServeAudit(t *testing.T) {
	path := serveWares(t, wares(t, 3, 70, noImages), nil)
	for _, skip := range []int{-1, 3} {
		var verdict *wire.Audited
		var asked wire.Ask
		for rank := range 2 {
			c := dial(t, path)
			if _, err := c.open(opening); err != nil {
				t.Fatal(err)
			}
			joined, err := c.join(wire.Join{Iteration: "a", Rank: rank, WorldSize: 2})
			if err != nil {
				t.Fatal(err)
			}
			r := audit.Record{Epoch: uint64(joined.Epoch), World: 2, Rank: rank, From: joined.Span.From, To: joined.Span.To}
			for n := 0; ; n++ {
				b, end, err := c.batch()
				if err != nil {
					t.Fatal(err)
				}
				if end != nil {
					break
				}
				if rank == 0 || n != skip {
					r.Add(b.sum())
				}
				if err := c.release(b); err != nil {
					t.Fatal(err)
				}
			}
			asked = wire.Ask{Rank: rank, WorldSize: 2, Audit: &wire.Audit{
				Epoch: uint64(joined.Epoch), Begin: joined.Span.Begin, To: joined.Span.To, State: joined.State, Ranks: []int{rank}, Records: []audit.Record{r},
			}}
			var s wire.Session
			if err := c.send(wire.FrameAsk, asked); err != nil {
				t.Fatal(err)
			}
			if err := c.ask(wire.FrameSession, &s); err != nil {
				t.Fatal(err)
			}
			verdict = s.Audit
			defer c.close()
		}
		if verdict == nil || verdict.Ranks != 2 || verdict.Of != 2 || verdict.Proved != (skip < 0) || len(verdict.Faults) == 0 != (skip < 0) {
			t.Errorf("skipped step %d: %+v", skip, verdict)
		}
		if want := "epoch 0: 210 rows, each exactly once, on 2 ranks"; skip < 0 && verdict.Text != want {
			t.Errorf("%s, want %s", verdict.Text, want)
		}
	}
}
