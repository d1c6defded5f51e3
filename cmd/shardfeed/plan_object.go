package main

import (
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A plan is the JSON output of plan.
type plan struct {
	Shards    int `json:"shards"`
	RowGroups int `json:"row_groups"`
	Units     int `json:"units"`
	rowChoice
	Bytes   int64 `json:"uncompressed_bytes"` // of all columns
	Encoded int64 `json:"encoded_bytes"`      // of the columns that are read
	Decoded int64 `json:"decoded_bytes"`

	Packing *packing `json:"packing"` // null where rows are not packed

	Shuffle bool            `json:"shuffle"`
	Order   string          `json:"plan"`
	Seed    uint64          `json:"seed"`
	Params  *shuffle.Params `json:"params"` // null without shuffle, and in a mixture
	Sources []planSource    `json:"sources,omitempty"`

	Batching shuffle.Batching `json:"batching,omitempty"` // of a mixture

	BatchSize   int          `json:"batch_size"`
	WorldSize   int          `json:"world_size"`
	GlobalBatch int64        `json:"global_batch"`
	Tail        shuffle.Tail `json:"tail"`
	Steps       int64        `json:"steps"` // of an epoch on each rank
	LeftOut     int64        `json:"rows_left_out"`

	LanesPerRank int  `json:"lanes_per_rank"`
	SharedLanes  bool `json:"shared_lanes"`

	Bound         map[string]int64 `json:"bound_bytes"` // by purpose
	BoundTotal    int64            `json:"bound_total_bytes"`
	Memory        int64            `json:"memory_bytes"`
	Fits          bool             `json:"fits"`
	BufferFits    int64            `json:"shuffle_buffer_that_fits_rows"` // 0 when the bound fits, or nothing does
	FirstBatch    int64            `json:"first_batch_bytes"`
	Amplification float64          `json:"decode_amplification"`
	Quality       *quality         `json:"quality"` // null without shuffle
	Proposals     []string         `json:"proposals"`
	Kept          *keptPlan        `json:"kept_decoded"` // null if nothing is kept
	Job           *jobOfNodes      `json:"job"`          // null without --nodes
}

// A planSource is a source of a mixture.
type planSource struct {
	Name    string  `json:"name"`
	Share   float64 `json:"share"`   // of the samples, at the start of the mixture
	Rows    int64   `json:"rows"`    // of the shards
	Rule    string  `json:"rule"`    // as states have it; "" without
	Samples int64   `json:"samples"` // of a pass over the source
	Epoch   int64   `json:"epoch_samples"`
	Passes  float64 `json:"passes"` // over the source in an epoch
	Units   int     `json:"units"`
	Buffer  int64   `json:"shuffle_buffer"` // samples
	Stays   bool    `json:"stays_decoded"`

	Lanes           int     `json:"lanes"`
	TokenShare      float64 `json:"token_share,omitempty"` // of the tokens, where weights are in tokens
	TokensPerSample float64 `json:"tokens_per_sample,omitempty"`
}

// A rowChoice counts the rows that a rule selects.
type rowChoice struct {
	Rows    int64   `json:"rows"`          // of the shards
	Samples int64   `json:"samples"`       // of an epoch: rows that are chosen, each as often as it comes
	Rule    string  `json:"rule"`          // as states have it; "" without
	Bytes   int64   `json:"count_bytes"`   // encoded, of the columns that the rule reads: the most that counting reads
	Seconds float64 `json:"count_seconds"` // time to count them; 0 if nothing needed counting
}

// A packing describes the blocks of an epoch, which are its samples.
type packing struct {
	Strategy    string   `json:"strategy"`
	Size        int      `json:"size"` // tokens of a block
	Blocks      int64    `json:"blocks"`
	Units       int      `json:"units"`       // that have any
	Tokens      *int64   `json:"tokens"`      // null if unknown
	Counted     bool     `json:"counted"`     // tokens: by this start; else they are the footers' and about right
	Utilisation *float64 `json:"utilisation"` // from 0 to 1
}

func packingObject(p *iterable.PackPlan) *packing {
	if p == nil {
		return nil
	}
	o := &packing{Strategy: p.Strategy, Size: p.Size, Blocks: p.Blocks, Units: p.Units, Counted: p.Counted}
	if p.Tokens > 0 {
		o.Tokens, o.Utilisation = &p.Tokens, &p.Utilisation
	}
	return o
}

// A quality is how well an order mixes sorted data, the worst case.
type quality struct {
	Independent float64 `json:"independent_units"`
	Deff        float64 `json:"deff"`
	Units       float64 `json:"units_per_batch"`
	Meaning     string  `json:"meaning"`
}

func planObject(p *iterable.Plan, chosen rowChoice) *plan {
	o := &plan{
		Shards: p.Shards, RowGroups: p.Groups, Units: p.Units, rowChoice: chosen, Bytes: p.Bytes, Encoded: p.Encoded, Decoded: p.Decoded,
		Packing: packingObject(p.Packed), Shuffle: p.Shuffle, Order: shuffle.OrderOf(p.Shuffle, p.Sources != nil), Seed: p.Seed, Params: p.Params, BatchSize: p.BatchSize, WorldSize: p.WorldSize,
		GlobalBatch: p.GlobalBatch, Tail: p.Tail, Steps: p.Steps, LeftOut: p.LeftOut, LanesPerRank: p.LanesPerRank, SharedLanes: p.SharedLanes,
		Bound: map[string]int64{}, BoundTotal: p.Bound.Total(), Memory: p.Memory, Fits: p.Fits, BufferFits: p.Buffer,
		FirstBatch: p.FirstBatch, Amplification: p.Amplification, Batching: p.Batching, Proposals: append([]string{}, p.ProposalsSpelled(option.Flag)...),
	}
	for purpose, bytes := range p.Bound {
		o.Bound[mem.Purpose(purpose).String()] = bytes
	}
	for _, s := range p.Sources {
		o.Sources = append(o.Sources, planSource{
			Name: s.Name, Share: s.Share, Rows: s.AllRows, Rule: s.Rule, Samples: s.Samples, Epoch: s.Epoch, Passes: s.Passes, Units: s.Units,
			Buffer: s.Buffer, Stays: s.Kept, Lanes: s.Lanes, TokenShare: s.TokenShare, TokensPerSample: s.TokensPerSample,
		})
	}
	if p.Shuffle && p.Params != nil {
		o.Quality = &quality{p.Quality.Independent, p.Quality.Deff, p.Quality.Units, mixingMeaning(p)}
	}
	return o
}
