package iterable

import "github.com/shardfeed/shardfeed/iterable/internal/estimate"

// bound is the memory of a stream of the mixture: the bounds of the sources add, and its draws hold
// the samples that take the most of any.
func (x *mixed) bound(rowsDrawn int64) bound {
	var b bound
	drawn := estimate.NewDensest(rowsDrawn)
	var ticks, tick int64
	for _, m := range x.sources {
		if m.kept != nil {
			bytes, largest := m.kept.bytes()
			b.shuffle += bytes
			b.whole += bytes
			b.load = b.load.Largest(largest)
			continue
		}
		held, whole, rows := int64(0), int64(0), int64(0)
		for pass := m.epochs.start.epoch; pass < m.epochs.start.epoch+boundEpochs && (pass == m.epochs.start.epoch || !m.over(pass)); pass++ {
			n, undivided, all, largest := m.sizes.lanesOf(m.epochs.at(pass), &b.load, drawn)
			held, whole, rows, tick = max(held, n), max(whole, undivided), max(rows, all), max(tick, largest)
			if m.plan.Units().Len() > boundUnits {
				break
			}
		}
		b.shuffle, b.whole, ticks = b.shuffle+held, b.whole+whole, ticks+rows
	}
	b.draws = drawn.Most()
	b.ticks = max(0, (ticks+tick)*pickBytes-freeTicks)
	return b
}
