package iterable

import (
	"context"

	"github.com/shardfeed/shardfeed/shuffle"
)

// keptSlot stands for all slots in the keys of units that are kept.
const keptSlot = -1

// keptUnits are the units of a source that fits its part of the shuffle buffer: they are decoded
// once and stay for all passes over it, where they would be decoded again every few samples
// otherwise. The schedule lists them; the rest is the consumer's.
type keptUnits struct {
	of        *mixedSource
	list      []keptUnit // that the stream reads, in the order of need
	residents []*resident
}

// A keptUnit is needed from a sample of the mixture on.
type keptUnit struct {
	unit int
	need int64
}

// keeps says that units of a source stay. Blocks of documents are packed otherwise in each pass, so
// they do not.
func (s *source) keeps(p *shuffle.Plan) bool {
	return p.Params().Buffer >= p.Rows() && s.packing() == nil
}

func newKeptUnits(m *mixedSource) *keptUnits {
	k := &keptUnits{of: m, residents: make([]*resident, m.plan.Units().Len())}
	k.find()
	return k
}

// find lists the units by a look at the passes. What a lane has of the line of units repeats with
// the place at which a pass begins among the lanes, unless shards are assigned by pass.
func (k *keptUnits) find() {
	m := k.of
	lanes, left := m.plan.Params().Lanes, 0
	for _, u := range m.plan.Units().All() {
		if u.Samples > 0 {
			left++
		}
	}
	seen := make([]bool, m.plan.Units().Len())
	s := newLaneSchedule(m.epochs, m.sizes)
	last := m.epochs.start.epoch + uint64(lanes)
	for left > 0 {
		l, ok := s.next()
		if !ok || s.epoch > last+1 {
			break
		}
		if u := l.span.Unit; !seen[u] {
			seen[u] = true
			left--
			k.list = append(k.list, keptUnit{u, l.need})
		}
		m.epochs.forget(s.epoch - 1)
	}
	if m.plan.Params().Assign != shuffle.PerEpoch || left == 0 {
		return
	}
	for u, of := range m.plan.Units().All() { // some later pass may bring any of them
		if !seen[u] && of.Samples > 0 {
			k.list = append(k.list, keptUnit{u, m.mixed.to})
		}
	}
}

// bytes that all of them take, and the largest load.
func (k *keptUnits) bytes() (all int64, largest cost) {
	units := k.of.plan.Units()
	for _, u := range k.list {
		unit := units.At(u.unit)
		c := k.of.sizes.spanCost(unit, wholeUnit(unit), false)
		largest = largest.largest(c)
		all += c.bytes() + 2*unit.Samples*orderBytes // the orders of a pass that ends and of one that begins
	}
	return all, largest
}

// key of a unit.
func (k *keptUnits) key(unit int) key {
	return key{source: int32(k.of.number), slot: keptSlot, span: int32(unit)}
}

// keptSchedule lists the loads of units that are kept.
type keptSchedule struct {
	kept *keptUnits
	at   int
}

func (s *keptSchedule) next() (*load, bool) {
	if s.at == len(s.kept.list) {
		return nil, false
	}
	k, of := s.kept.list[s.at], s.kept.of
	s.at++
	u := of.plan.Units().At(k.unit)
	l := of.sizes.newLoad(u, shuffle.Span{Unit: k.unit, To: u.Samples}, false)
	l.need = k.need
	l.wanted = []wanted{{key: s.kept.key(k.unit), rows: int(u.Samples)}}
	return l, true
}

// span is a span of a pass as a resident, of the block of its unit.
func (k *keptUnits) span(ctx context.Context, s *Stream, lane *shuffle.Lane, j int) (*resident, error) {
	sp := lane.Span(j)
	unit := k.residents[sp.Unit]
	if unit == nil {
		var err error
		if unit, err = s.await(ctx, k.key(sp.Unit)); err != nil {
			return nil, err
		}
		k.residents[sp.Unit] = unit
	}
	rows := int(sp.Rows())
	if unit.lost != nil {
		return &resident{lost: unit.lost, rows: rows}, nil
	}
	order := lane.RowOrder(j, s.ahead.takeOrder(rows))
	for i, row := range order {
		row += uint32(sp.From)
		if unit.order != nil {
			row = unit.order[row]
		}
		order[i] = row
	}
	s.buffer.use(unit.hold)
	return &resident{hold: unit.hold, order: order, rows: rows, places: unit.places}, nil
}

// close drops the units.
func (k *keptUnits) close(s *Stream) {
	for i, r := range k.residents {
		if r != nil {
			s.buffer.drop(r, s.drawn)
			k.residents[i] = nil
		}
	}
}
