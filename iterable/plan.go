package iterable

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/iterable/internal/ahead"
	"github.com/shardfeed/shardfeed/iterable/internal/estimate"
	"github.com/shardfeed/shardfeed/iterable/internal/samples"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A Plan predicts a run from footers.
type Plan struct {
	PlanTable

	read struct { // by the units: of each source
		groups int
		rows   int64
	}

	Packed     *PackPlan  `json:"-"`          // nil if samples are rows
	Tokenizing []TextPlan `json:"tokenizing"` // columns that get tokens

	Shuffle  bool             `json:"shuffle"`
	Seed     uint64           `json:"seed"`
	Params   *shuffle.Params  `json:"params"` // null without shuffle, and in a mixture
	Sources  []PlanSource     `json:"sources,omitempty"`
	Batching shuffle.Batching `json:"batching,omitempty"` // of a mixture
	Lanes    int              `json:"-"`                  // 0 without shuffle, and if the sources of a mixture have their own lanes

	PlanSteps

	LanesPerRank int  `json:"lanes_per_rank"` // of the rank that reads the most
	SharedLanes  bool `json:"shared_lanes"`   // two ranks read some lanes, because the world size does not divide their number

	Bound  Amounts `json:"-"`                  // memory of the rank that needs the most
	Long   int64   `json:"long_batches_bytes"` // of Bound's batches, if their rows are the longest by the footers
	Memory int64   `json:"memory_bytes"`       // its limit
	Fits   bool    `json:"fits"`
	Buffer int64   `json:"shuffle_buffer_that_fits_rows"` // 0 when the bound fits, or nothing does

	FirstBatch    int64           `json:"first_batch_bytes"`    // encoded, that a rank reads before its first batch
	Amplification float64         `json:"decode_amplification"` // bytes to decompress over bytes of the row groups
	Quality       shuffle.Quality `json:"-"`
	Poor          *PoorMixing     `json:"-"` // nil if Quality is good enough
	Proposals     []string        `json:"-"` // changes that would improve the run, in words

	remedy    string   // if no ShuffleBuffer fits, with options in braces
	proposals []string // with the names of options in braces
}

// PlanTable describes what a run reads.
type PlanTable struct {
	Snapshot  string `json:"snapshot,omitempty"` // of the table that the address names
	Shards    int    `json:"shards"`             // what several sources share counts once
	Groups    int    `json:"row_groups"`
	Units     int    `json:"units"`
	AllRows   int64  `json:"rows"`               // of the shards
	Rows      int64  `json:"samples"`            // of an epoch: rows that are chosen, each as often as it comes
	Rule      string `json:"rule"`               // as states have it; "" without
	RuleBytes int64  `json:"count_bytes"`        // encoded, of the columns that the rule reads: the most that counting reads
	Bytes     int64  `json:"uncompressed_bytes"` // of all columns
	Encoded   int64  `json:"encoded_bytes"`      // of the columns that are read
	Decoded   int64  `json:"decoded_bytes"`      // of the same, predicted
}

// PlanSteps describes the steps of a run.
type PlanSteps struct {
	BatchSize   int          `json:"batch_size"`
	WorldSize   int          `json:"world_size"`
	GlobalBatch int64        `json:"global_batch"`
	Tail        shuffle.Tail `json:"tail"`
	Steps       int64        `json:"steps"`         // of an epoch on each rank
	LeftOut     int64        `json:"rows_left_out"` // of an epoch, by Drop only
}

// boundRanks is how many ranks' bounds are computed at most: beyond, ranks hardly differ.
const boundRanks = 64

// Plan predicts a run of streams with these options on worldSize ranks, from the start of epoch
// 0 on.
func (d *Dataset) Plan(worldSize int, o StreamOptions) (*Plan, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("stream options: %w", err)
	}
	o = o.withDefaults(d)
	steps, err := d.blend.steps(o.BatchSize, worldSize, o.Tail, nil)
	if err != nil {
		return nil, err
	}
	p := &Plan{
		PlanTable: PlanTable{Rows: steps.Rows, Rule: d.Rule()},
		PlanSteps: PlanSteps{BatchSize: o.BatchSize, WorldSize: worldSize, GlobalBatch: steps.GlobalBatch, Tail: steps.Tail, Steps: steps.Count(0)},
		Shuffle:   d.options.Shuffle, Seed: d.options.Seed, Memory: d.memory,
	}
	if len(d.sources) == 1 {
		p.Snapshot = d.sources[0].data.Snapshot
	}
	if steps.Tail == shuffle.Drop {
		p.LeftOut = steps.Rows % steps.GlobalBatch
	}
	var sliced, bytes int64 // of all sources
	seen := map[fileVersion]bool{}
	for _, s := range d.sources {
		units, err := s.ownUnits()
		if err != nil {
			return nil, err
		}
		sliced, bytes = sliced+s.weigh(p, units), bytes+s.bytes
		s.measure(p, seen)
		p.Packed = p.Packed.With(s.packPlan(units))
	}
	p.Tokenizing, p.Amplification = d.TextPlans(), 1
	if bytes > 0 {
		p.Amplification = max(1, float64(sliced)/float64(bytes))
	}
	o.State = nil
	start := stepper{Steps: steps, end: uint64(max(0, o.Epochs))}
	return p, d.planRanks(p, start, o)
}

// TextPlans describes the columns that get tokens, and their texts as far as these are counted.
func (d *Dataset) TextPlans() (all []TextPlan) {
	for _, s := range d.sources {
		all = samples.AddTextPlans(all, samples.NewTextPlans(&s.transforms, s.manifest, s.packing(), s.counted()), s.name)
	}
	return all
}

// planRanks adds what the ranks read of the order, and proposes what would be better.
func (d *Dataset) planRanks(p *Plan, start stepper, o StreamOptions) error {
	r, err := d.orderOf(p.WorldSize, o, 0, d.options.Memory)
	if err != nil {
		return err
	}
	ranks := 1 // without shuffle they are alike
	if p.Shuffle {
		ranks = min(p.WorldSize, boundRanks)
	}
	var worst shuffle.Worker
	for rank := range ranks {
		w := shuffle.Worker{Rank: rank, WorldSize: p.WorldSize, Workers: 1}
		part, err := d.portion(r, w, start, o)
		if err != nil {
			return err
		}
		p.LanesPerRank = max(p.LanesPerRank, part.lanes)
		p.FirstBatch = max(p.FirstBatch, firstBatch(part.schedule, p.GlobalBatch))
		if need := Amounts(part.bound.least()); rank == 0 || need.Total() > p.Bound.Total() {
			worst, p.Bound = w, need
		}
	}
	p.Fits = p.Bound.Total() <= d.memory
	if p.Long, err = d.longBatches(o); err != nil {
		return err
	}
	p.Long = max(p.Long, p.Bound[mem.Batch])
	if !p.Shuffle {
		return nil
	}
	if err := r.describe(p); err != nil {
		return err
	}
	p.SharedLanes = p.Lanes%p.WorldSize != 0 || slices.ContainsFunc(p.Sources, func(s PlanSource) bool { return s.Lanes%p.WorldSize != 0 })
	if !p.Fits && d.options.Plan == nil {
		e := &MemoryError{Need: p.Bound}
		d.remedy(r, worst, start, o).advise(e)
		p.Buffer, p.remedy = e.Buffer, e.advice()
	}
	p.propose()
	return nil
}

// longBatches is batchBytes for the units whose rows take the most.
func (d *Dataset) longBatches(o StreamOptions) (int64, error) {
	rows := int64(o.Batches) * int64(o.BatchSize)
	longest := estimate.NewDensest(min(rows, 2*d.NumSamples()))
	for _, s := range d.sources {
		units, err := s.ownUnits()
		if err != nil {
			return 0, err
		}
		for _, u := range units.All() {
			if u.Samples > 0 {
				longest.Add(u.Samples, s.sizes.spanCost(u, shuffle.Span{To: u.Samples}, false).Bytes())
			}
		}
	}
	all := longest.Most() + rows*o.Wider
	return estimate.InBlocks(all, int64(o.Batches)), nil
}

// weigh adds up the source's shards and their bytes, and returns the bytes to decompress.
func (d *source) weigh(p *Plan, units *shuffle.Units) (sliced int64) {
	p.Units += units.Len()
	p.read.groups += len(d.data.Groups)
	p.read.rows += d.manifest.NumRows()
	var edges []int64
	for _, u := range units.All() {
		if u.Lo > 0 {
			edges = append(edges, u.Lo)
		}
		if last := u.Hi == d.manifest.Groups()[u.Group].Rows; last {
			if len(edges) > 0 {
				sliced += d.manifest.SlicedBytes(u.Group, edges)
			} else {
				sliced += d.manifest.Groups()[u.Group].Bytes
			}
			edges = edges[:0]
		}
	}
	for g := range d.manifest.Groups() {
		if d.rules != nil && d.rules.Reads() {
			fetch, _ := d.manifest.RuleBytes(g)
			p.RuleBytes += fetch
		}
	}
	return sliced
}

// A fileVersion names what a shard holds.
type fileVersion struct {
	uri     string
	size    int64
	version string
}

// measure adds the source's data to a plan. Shards that an earlier source has too count once.
func (d *source) measure(p *Plan, seen map[fileVersion]bool) {
	shards := d.manifest.Shards()
	fresh := make([]bool, len(shards))
	for i, s := range shards {
		version := fileVersion{s.URI, s.Size, s.Version}
		if fresh[i] = !seen[version]; fresh[i] {
			seen[version] = true
			p.Shards++
		}
	}
	for g, group := range d.manifest.Groups() {
		if fresh[group.Shard] {
			p.Groups++
			p.AllRows += group.Rows
			p.Bytes += group.Bytes
			p.Encoded += group.Compressed
			narrow, wide := d.manifest.DecodedBytes(g)
			p.Decoded += narrow + wide
		}
	}
}

// firstBatch is the encoded bytes of the loads that are needed within the first step.
func firstBatch(s ahead.Schedule, globalBatch int64) int64 {
	var bytes int64
	for {
		l, ok := s.Next()
		if !ok || l.Need >= globalBatch || l.Wanted[0].Epoch > 0 {
			return bytes
		}
		bytes += l.Estimate.Fetch
	}
}

// ProposalsSpelled are the Proposals with options as name spells them.
func (p *Plan) ProposalsSpelled(name func(field string) string) []string {
	var all []string
	for _, text := range p.proposals {
		all = append(all, option.Spell(text, name))
	}
	return all
}

// moreUnits returns the settings that let the shuffle buffer hold more units, or "". It proposes a
// larger buffer unless memory is short, Poor already names one, or the buffer holds all rows; and
// smaller units unless the requested ones are as small.
func (p *Plan) moreUnits() string {
	var all []string
	if buffer := min(p.Quality.BufferRows, p.Rows); p.Fits && p.Poor == nil && buffer > p.Params.Buffer {
		all = append(all, fmt.Sprintf("a {ShuffleBuffer} of %d rows", buffer))
	}
	if rows := p.Quality.UnitRows; p.Params.UnitRows == 0 || p.Params.UnitRows > rows {
		all = append(all, fmt.Sprintf("{UnitRows} of %d", rows))
	}
	return strings.Join(all, ", or ")
}

// proposeMixing proposes what would mix sorted data better.
func (p *Plan) proposeMixing(add func(format string, args ...any)) {
	q := p.Quality
	if p.Poor != nil && p.Fits {
		add("%s", p.Poor.text())
	}
	if better := p.moreUnits(); q.FewUnits && better != "" {
		add("a lane's share of the shuffle buffer holds fewer than four units: %s would mix better", better)
	} else if (p.Poor == nil || !p.Fits) && p.Params.Buffer < p.Rows && q.Independent < float64(p.GlobalBatch) {
		add("about %.0f units mix into a global batch of %d rows: on sorted data a larger {ShuffleBuffer}, or smaller units, would mix better",
			q.Independent, p.GlobalBatch)
	}
}

// propose says in words what would make the run better.
func (p *Plan) propose() {
	add := func(format string, args ...any) { p.proposals = append(p.proposals, fmt.Sprintf(format, args...)) }
	switch {
	case p.Fits:
	case p.Buffer > 0:
		add("the bound of %s is over the limit of %s: raise {Memory}, or set {ShuffleBuffer} to %d rows", mem.Bytes(p.Bound.Total()), mem.Bytes(p.Memory), p.Buffer)
	default:
		add("the bound of %s is over the limit of %s, and no smaller {ShuffleBuffer} fits: %s", mem.Bytes(p.Bound.Total()), mem.Bytes(p.Memory), p.remedy)
	}
	if p.Params != nil {
		p.proposeMixing(add)
	}
	p.proposePacking(add)
	if p.SharedLanes {
		lanes := "the " + strconv.Itoa(p.Lanes) + " lanes"
		if p.Lanes == 0 {
			lanes = "the lanes of each source"
		}
		add("the world size does not divide %s, so some are read by two ranks: set {MaxWorldSize} or {Lanes} to a multiple of it", lanes)
	}
	p.Proposals = p.ProposalsSpelled(option.Go)
}
