package shuffle

import (
	"iter"
	"math"
)

// Plan is the order of all epochs of one manifest under one seed. It is immutable and safe for
// concurrent use.
type Plan struct {
	manifest *Manifest
	units    Units
	params   Params
	seed     uint64

	sizes      sizes
	shardUnits []int   // units of shard s are [shardUnits[s], shardUnits[s+1])
	shardRows  []int64 // samples of shard s
	lineOf     []int   // slot -> line lane
	slotOf     []int   // line lane -> slot
	sticky     []uint32
	sampled    []uint32 // the shards that the order depends on
	skipped    []uint32 // per shard, the groups of skipped shards before it; nil if all shards are sampled
	content    string
	unitsHash  string
}

// New makes the plan of a manifest that was cut into units. The units must come from [CutUnits] of
// this manifest, or be a list that covers all rows of all groups in ascending order without empty
// units. Under the manifest's rule they must be a list, each with the samples that the rule makes
// of its rows. New keeps manifest and units, which must not change afterwards.
func New(m *Manifest, units Units, params Params, seed uint64) (*Plan, error) {
	if err := m.Validate(); err != nil {
		return nil, err
	}
	if err := params.Validate(); err != nil {
		return nil, err
	}
	if err := checkUnits(m, units); err != nil {
		return nil, err
	}
	p := &Plan{manifest: m, units: units, params: params, seed: seed, sizes: measure(units)}
	if ticks := p.sizes.rows / int64(params.Lanes) / params.Quantum; ticks > math.MaxInt32 {
		return nil, refuse("quantum", "%d rows over %d lanes make %d ticks, the limit is %d", p.sizes.rows, params.Lanes, ticks, math.MaxInt32)
	}
	p.indexShards()
	p.lineOf = reverseDigits(params.Lanes)
	p.slotOf = invert(p.lineOf)
	sampled := m.Sampled(units)
	p.sampled, p.skipped = indexSampled(m, sampled)
	p.sticky = p.shuffledShards(0)
	p.content, p.unitsHash = m.Only(sampled).Content(), p.hashUnits(sampled)
	return p, nil
}

func (p *Plan) indexShards() {
	shards := len(p.manifest.Shards)
	p.shardUnits = make([]int, shards+1)
	p.shardRows = make([]int64, shards)
	for _, u := range p.units.All() {
		s := p.manifest.Groups[u.Group].Shard
		p.shardUnits[s+1]++
		p.shardRows[s] += u.Samples
	}
	for s := range shards {
		p.shardUnits[s+1] += p.shardUnits[s]
	}
}

func (p *Plan) shuffledShards(id uint64) []uint32 {
	r := newRNG(domAssign, p.seed, id)
	order := permutation(&r, nil, len(p.sampled))
	for i, s := range order {
		order[i] = p.sampled[s]
	}
	return order
}

// Line yields the units in the order in which sticky lanes divide them.
func (p *Plan) Line() iter.Seq[int] {
	return func(yield func(int) bool) {
		for _, s := range p.sticky {
			for u := p.shardUnits[s]; u < p.shardUnits[s+1]; u++ {
				if p.units.At(u).Samples > 0 && !yield(u) {
					return
				}
			}
		}
	}
}

// Units of the plan, by number.
func (p *Plan) Units() *Units { return &p.units }

// Seed of the plan.
func (p *Plan) Seed() uint64 { return p.seed }

// Params of the plan.
func (p *Plan) Params() Params { return p.params }

// Rows is N, the samples of an epoch.
func (p *Plan) Rows() int64 { return p.sizes.rows }

// Bound is the most samples that the given number of lanes hold at any time, their next tick's
// arrivals included.
func (p *Plan) Bound(lanes int) int64 {
	lane := p.params.LaneBound(p.sizes.rows, p.sizes.largest)
	if lanes <= 0 || lane == 0 {
		return 0
	}
	if lane >= ceilDiv(p.sizes.rows, int64(lanes)) {
		return p.sizes.rows
	}
	return lane * int64(lanes)
}

// UnitsHash identifies the cut of the groups and the samples that the rule made: 16 hex digits.
func (p *Plan) UnitsHash() string { return p.unitsHash }
