package engine

import (
	"fmt"

	"github.com/shardfeed/shardfeed/internal/engine/wire"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/shuffle"
)

// warnings returns notes about the order for the user at the start of training. All ranks have one
// order, so only one of them reports it.
func (it *iteration) warnings() []string {
	s := it.session
	if s.rank != 0 || it.number > 1 || it.join.State != nil {
		return nil
	}
	m, err := s.dataset.data.Dataset.PoorMixing(it.join.WorldSize, iterable.StreamOptions{BatchSize: s.batchSize(), Tail: it.single.Tail, State: &it.state})
	if err != nil || m == nil { // the stream reports the error
		return nil
	}
	return []string{m.Spelled(option.Argument)}
}

// announce sends JOINED to the participants, once even if the loader is made again.
func (it *iteration) announce() {
	if it.announced {
		return
	}
	it.announced = true
	next := afterEpoch(it.state, it.single)
	joined := wire.Joined{
		Epoch: int64(it.epoch), State: it.state, Next: wire.NextEpoch{Epoch: next.Epoch, Position: next.Position}, Steps: it.single.Count(0), Bundle: it.bundle, Schema: it.schema(),
		Fingerprint: it.fingerprint(), Span: it.span(),
		Warnings:    it.warnings(),
		OutputBytes: int64(it.join.Outputs) * it.session.dataset.data.batchBytes(it.session.batchSize()*it.bundle, it.steps.Tail),
	}
	it.session.mu.Lock()
	defer it.session.mu.Unlock()
	for _, p := range it.participants {
		p.call(func(c consumer) { c.joined(joined) })
	}
	if s := it.join.State; s != nil && s.GlobalBatch != it.single.GlobalBatch && s.Epoch == it.state.Epoch && s.Position > 0 {
		text := fmt.Sprintf("the state was taken with %d rows a step over all ranks, now there are %d: the rows that are left stay the same, in the same order",
			s.GlobalBatch, it.single.GlobalBatch)
		it.order[0].first().call(func(c consumer) { c.note(wire.Note{Level: "info", Text: text, Once: text}) })
	}
	it.session.dataset.engine.Logger.Debug("iteration begins", "rank", it.session.rank, "world", it.join.WorldSize, "epoch", joined.Epoch,
		"position", it.state.Position, "batches", it.count, "workers", len(it.order), "replicas", len(it.names))
}

// span returns the positions of the iteration's steps.
func (it *iteration) span() wire.Span {
	steps := it.single
	_, from, count := epochOf(it.state, steps)
	s := wire.Span{Begin: min(from, steps.Begin(0)), From: from, To: from + count*steps.GlobalBatch}
	if steps.Tail != shuffle.Carry {
		s.To = min(s.To, steps.Rows)
	}
	return s
}
