package iterable

import (
	"context"
	"slices"

	"github.com/shardfeed/shardfeed/iterable/internal/ahead"
	"github.com/shardfeed/shardfeed/iterable/internal/estimate"
	"github.com/shardfeed/shardfeed/shuffle"
)

// keptSlot represents all slots in the keys of units that are kept.
const keptSlot = -1

// keptUnits are the units of a source that fits its part of the shuffle buffer: they are decoded
// once and stay for all passes over it, if they would be decoded again every few samples
// otherwise. The schedule lists them; the rest is the consumer's.
type keptUnits struct {
	of        *mixedSource
	list      []keptUnit // that the stream reads, in the order of need
	listed    []bool     // by unit
	residents []*resident
}

// A keptUnit is needed from a sample of the mixture on.
type keptUnit struct {
	unit int
	need int64
}

// keeps reports whether units of a source stay. Blocks of documents are packed otherwise in each
// pass, so they do not.
func (s *source) keeps(p *shuffle.Plan) bool {
	return p.Params().Buffer >= p.Rows() && s.packing() == nil
}

func newKeptUnits(m *mixedSource) *keptUnits {
	units := m.plan.Units().Len()
	k := &keptUnits{of: m, residents: make([]*resident, units), listed: make([]bool, units)}
	k.find()
	k.addLater()
	return k
}

// find lists the units of as many passes as there are lanes.
func (k *keptUnits) find() {
	m := k.of
	left := 0
	for _, u := range m.plan.Units().All() {
		if u.Samples > 0 {
			left++
		}
	}
	s := newLaneSchedule(m.epochs, m.sizes)
	last := m.epochs.start.epoch + uint64(m.plan.Params().Lanes)
	for left > 0 {
		l, ok := s.Next()
		if !ok || s.epoch > last+1 {
			break
		}
		if u := l.Span.Unit; !k.listed[u] {
			left--
			k.add(u, l.Need)
		}
		m.epochs.forget(s.epoch - 1)
	}
}

func (k *keptUnits) add(unit int, need int64) {
	k.listed[unit] = true
	k.list = append(k.list, keptUnit{unit, need})
}

// addLater lists the units that later passes may bring. One that comes all the same is read when it
// does. They are due with the last of the others: a stream without end has no later place for them.
func (k *keptUnits) addLater() {
	due := k.of.mixed.from
	if n := len(k.list); n > 0 {
		due = k.list[n-1].need
	}
	for _, u := range laterUnits(k.of.plan, k.listed) {
		k.add(u, due)
	}
}

// laterUnits returns the units that later passes may bring to lanes that have the listed ones: all
// of them where shards are assigned by pass or a lane has few rows; else those beside the listed
// ones, since lanes have a few rows more or less from pass to pass.
func laterUnits(p *shuffle.Plan, listed []bool) (later []int) {
	all := p.Params().Assign == shuffle.PerEpoch || p.Rows() < int64(fewLaneRows*p.Params().Lanes)
	seen, before := slices.Clone(listed), -1
	add := func(u int) {
		if !seen[u] {
			seen[u] = true
			later = append(later, u)
		}
	}
	for u := range p.Line() {
		if before >= 0 && (all || listed[u]) {
			add(before)
		}
		if all || before >= 0 && listed[before] {
			add(u)
		}
		before = u
	}
	return later
}

// fewLaneRows of a source make its units change lanes from pass to pass.
const fewLaneRows = 16

// bytes that all of them take, and the largest load.
func (k *keptUnits) bytes() (all int64, largest estimate.Cost) {
	units := k.of.plan.Units()
	for _, u := range k.list {
		unit := units.At(u.unit)
		c := k.of.sizes.spanCost(unit, wholeUnit(unit), false)
		largest = largest.Largest(c)
		all += c.Bytes() + 2*unit.Samples*ahead.OrderBytes // the orders of a pass that ends and of one that starts
	}
	return all, largest
}

// key of a unit.
func (k *keptUnits) key(unit int) ahead.Key {
	return ahead.Key{Source: int32(k.of.number), Slot: keptSlot, Span: int32(unit)}
}

// keptSchedule lists the loads of units that are kept.
type keptSchedule struct {
	kept *keptUnits
	at   int
}

func (s *keptSchedule) Next() (*ahead.Load, bool) {
	if s.at == len(s.kept.list) {
		return nil, false
	}
	k := s.kept.list[s.at]
	s.at++
	return s.kept.newLoad(k), true
}

func (k *keptUnits) newLoad(of keptUnit) *ahead.Load {
	u := k.of.plan.Units().At(of.unit)
	l := k.of.sizes.newLoad(u, shuffle.Span{Unit: of.unit, To: u.Samples}, false)
	l.Need = of.need
	l.Wanted = []ahead.Wanted{{Key: k.key(of.unit), Rows: int(u.Samples)}}
	return l
}

// unit waits for a listed unit, or reads another.
func (k *keptUnits) unit(ctx context.Context, s *Stream, unit int) (r *resident, err error) {
	if k.listed[unit] {
		return s.await(ctx, k.key(unit))
	}
	l := k.newLoad(keptUnit{unit: unit})
	switch err := s.ahead.LoadNow(ctx, l, s.now.Trail); {
	case err == nil:
		return s.buffer.admit(l)[0], nil
	case s.losses.stands(err):
		s.dataset.loseOf(l.Manifest, l.Rows, err)
		return gaps(l)[0], nil
	default:
		return nil, err
	}
}

// span is a span of a pass as a resident, of the block of its unit.
func (k *keptUnits) span(ctx context.Context, s *Stream, lane *shuffle.Lane, j int) (*resident, error) {
	sp := lane.Span(j)
	unit := k.residents[sp.Unit]
	if unit == nil {
		var err error
		if unit, err = k.unit(ctx, s, sp.Unit); err != nil {
			return nil, err
		}
		k.residents[sp.Unit] = unit
	}
	rows := int(sp.Rows())
	if unit.lost != nil {
		return &resident{lost: unit.lost, rows: rows}, nil
	}
	order := lane.RowOrder(j, s.ahead.TakeOrder(rows))
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
