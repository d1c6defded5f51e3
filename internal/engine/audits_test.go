package engine

import (
	"encoding/binary"
	"testing"

	"github.com/shardfeed/shardfeed/audit"
	"github.com/shardfeed/shardfeed/internal/engine/wire"
)

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
