package main

import (
	"fmt"
	"math"
	"time"

	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/snapshot"
	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/term"
	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/tokens"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/internal/text"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/shuffle"
)

// planReport makes the text output. t is the table that is read, or nil. counting is how long the
// rows of the rule took to count.
func planReport(p *iterable.Plan, t *snapshot.Table, counting time.Duration) *term.Report {
	r := &term.Report{}
	r.Section("data")
	if t != nil {
		r.Fact("table", "%v", t)
	}
	r.Fact("rows", "%s in %s, %s", text.Count(p.AllRows), text.Plural(int64(p.Shards), "shard"), text.Plural(int64(p.Groups), "row group"))
	r.Fact("bytes", "%v uncompressed; of the columns that are read %v encoded, about %v decoded",
		mem.Bytes(p.Bytes), mem.Bytes(p.Encoded), mem.Bytes(p.Decoded))
	if p.Rule != "" {
		part := 100 * float64(p.Rows) / float64(max(1, p.AllRows))
		if p.Packed != nil {
			r.Fact("samples of an epoch", "%s (rule %s)", text.Count(p.Rows), p.Rule)
		} else {
			r.Fact("rows of an epoch", "%s, %.3g%% (rule %s)", text.Count(p.Rows), part, p.Rule)
		}
		if p.RuleBytes > 0 {
			r.Fact("counted", "in %s, from at most %v of encoded columns", term.Seconds(counting.Seconds()), mem.Bytes(p.RuleBytes))
		}
	}
	tokens.Section(r, p.Tokenizing)
	planPacking(r, p.Packed)
	planOrder(r, p)
	r.Section("steps")
	r.Fact("each rank", "%s of %s rows", text.Count(p.Steps), text.Count(int64(p.BatchSize)))
	r.Fact("all ranks", "%s x %s = %s rows a step", text.Count(int64(p.WorldSize)), text.Count(int64(p.BatchSize)), text.Count(p.GlobalBatch))
	if rest := p.Rows % max(1, p.GlobalBatch); rest > 0 {
		r.Fact("tail", "%s: %s", p.Tail, tailMeaning(p, rest))
	}
	planMemory(r, p)
	if p.Shuffle && p.Params != nil {
		planQuality(r, p)
	}
	if len(p.Proposals) > 0 {
		r.Section("proposals")
		for _, s := range p.ProposalsSpelled(option.Flag) {
			r.Note("%s", s)
		}
	}
	return r
}

// tailMeaning describes the treatment of the last rows, which do not fill a step.
func tailMeaning(p *iterable.Plan, rest int64) string {
	switch p.Tail {
	case shuffle.Drop:
		return "the last " + text.Plural(rest, "row") + " of an epoch left out"
	case shuffle.Pad:
		return fmt.Sprintf("the last step of an epoch has %s; %s that are marked as not valid fill it", text.Plural(rest, "row"), text.Count(p.GlobalBatch-rest))
	case shuffle.Carry:
		return "the last " + text.Plural(rest, "row") + " of an epoch come in the first step of the next"
	}
	return "the last step of an epoch has " + text.Plural(rest, "row")
}

func planOrder(r *term.Report, p *iterable.Plan) {
	r.Section("order")
	if !p.Shuffle {
		r.Fact("order", "%s: file order (--shuffle mixes)", shuffle.Sequential)
		r.Fact("units", "%s, read one after the other", text.Count(int64(p.Units)))
		return
	}
	if p.Params == nil {
		planMixture(r, p)
		return
	}
	r.Fact("order", "%s with seed %d", shuffle.Version, p.Seed)
	more := ""
	if p.Params.Buffer > p.Rows {
		more = ", more than there are"
	}
	r.Fact("shuffle buffer", "%s over all ranks%s", text.Plural(p.Params.Buffer, "row"), more)
	r.Fact("units", "%s of %s rows in the mean", text.Count(int64(p.Units)), text.Count(p.Rows/int64(max(1, p.Units))))
	shared := ""
	if p.SharedLanes {
		shared = ", some shared by two ranks"
	}
	r.Fact("lanes", "%d, %d for a rank%s", p.Params.Lanes, p.LanesPerRank, shared)
	r.Fact("quantum, life", "%s a tick, %s to empty a unit", text.Plural(p.Params.Quantum, "row"), text.Plural(p.Params.Life, "tick"))
	r.Fact("start, assign", "%s, %s", p.Params.Start, p.Params.Assign)
}

// planMixture reports each source's share of an epoch.
func planMixture(r *term.Report, p *iterable.Plan) {
	r.Fact("order", "%s with seed %d", shuffle.Mixed, p.Seed)
	r.Fact("epoch", "%s of %s", text.Plural(p.Rows, "sample"), text.Plural(int64(len(p.Sources)), "source"))
	shared := ""
	if p.SharedLanes {
		shared = ", some shared by two ranks"
	}
	if p.Batching == shuffle.PerSource {
		r.Fact("batching", "%s: each step of %s is of one source", p.Batching, text.Plural(p.GlobalBatch, "sample"))
		r.Fact("lanes", "of each source, at most %d for a rank%s", p.LanesPerRank, shared)
	} else {
		r.Fact("lanes", "%d, %d for a rank%s", p.Lanes, p.LanesPerRank, shared)
	}
	r.Section("sources")
	for _, s := range p.Sources {
		more := ""
		if p.Batching == shuffle.PerSource {
			more += "; " + text.Plural(int64(s.Lanes), "lane")
		}
		if s.Kept {
			more += "; it stays decoded"
		}
		r.Fact(s.Name, "%s: %s samples of an epoch, %.3gx its %s; %s of the shuffle buffer%s", shareText(s), text.Count(s.Epoch), s.Passes,
			text.Count(s.Samples), text.Count(s.Buffer), more)
	}
}

// shareText formats the share of a source in the samples, and in the tokens if weights are in
// tokens.
func shareText(s iterable.PlanSource) string {
	if s.TokensPerSample == 0 {
		return fmt.Sprintf("%.3g%%", 100*s.Share)
	}
	return fmt.Sprintf("%.3g%% of the tokens, %.3g%% of the samples, %.4g tokens each", 100*s.TokenShare, 100*s.Share, s.TokensPerSample)
}

// planPacking reports the blocks of an epoch and how full they are.
func planPacking(r *term.Report, p *iterable.PackPlan) {
	if p == nil {
		return
	}
	if p.Strategy == "bucket" {
		planBuckets(r, p)
		return
	}
	r.Section("packing")
	r.Fact("blocks", "%s of %s tokens, %s; they are the rows below", text.Count(p.Blocks), text.Count(int64(p.Size)), p.Strategy)
	r.Fact("of a unit", "%.1f blocks in the mean", float64(p.Blocks)/float64(max(1, p.Units)))
	switch {
	case p.Tokens == 0:
		r.Fact("utilisation", "not known: the rule chooses documents, and this start has read no lengths")
	case p.Counted:
		r.Fact("utilisation", "%.2f%%: %s tokens", 100*p.Utilisation, text.Count(p.Tokens))
	default:
		r.Fact("utilisation", "about %.2f%%: %s tokens", 100*p.Utilisation, text.Count(p.Tokens))
	}
}

// planBuckets reports the batches of an epoch and how much of them is padding.
func planBuckets(r *term.Report, p *iterable.PackPlan) {
	r.Section("buckets")
	r.Fact("batches", "%s of at most %s tokens; they are the rows below", text.Count(p.Blocks), text.Count(int64(p.Size)))
	r.Fact("of a unit", "%.1f batches in the mean", float64(p.Blocks)/float64(max(1, p.Units)))
	if p.Utilisation > 0 {
		r.Fact("utilisation", "%.2f%% of the tokens of padded batches: %s", 100*p.Utilisation, text.Count(p.Tokens))
	} else {
		r.Fact("utilisation", "not known: this start has read no lengths")
	}
}

func planMemory(r *term.Report, p *iterable.Plan) {
	r.Section("memory that a rank needs")
	for purpose, bytes := range p.Bound {
		if bytes > 0 {
			r.Fact(mem.Purpose(purpose).String(), "%10v", mem.Bytes(bytes))
		}
	}
	verdict := "within the limit of"
	if !p.Fits {
		verdict = "over the limit of"
	}
	r.Fact("sum", "%10v, %s %v", mem.Bytes(p.Bound.Total()), verdict, mem.Bytes(p.Memory))
	if batches := p.Bound[mem.Batch]; p.Long > batches+batches/2 {
		r.Note("Batches are reserved for mean rows. If their rows are the longest, as in a table sorted by length, they take up to %v; the excess comes from memory that is free within the limit.", mem.Bytes(p.Long))
	}
	if p.Fits {
		r.Note("A stream reserves more, within the limit, to read ahead on all processors.")
	}
	r.Fact("first batch", "after reading %v", mem.Bytes(p.FirstBatch))
	r.Fact("amplification", "%.3fx decoded: %s", p.Amplification, amplificationMeaning(p.Amplification))
}

func amplificationMeaning(a float64) string {
	if a <= 1 {
		return "no page lies across the edge of two units"
	}
	return "pages across the edges of units are decoded twice"
}

func planQuality(r *term.Report, p *iterable.Plan) {
	q := p.Quality
	r.Section("mixing, should the data be sorted")
	r.Fact("units", "%.1f in the mean global batch", q.Units)
	r.Fact("independent units", "%s behind a global batch of %s rows (K)", text.Count(int64(math.Round(q.Independent))), text.Count(p.GlobalBatch))
	r.Fact("variance", "%.2fx that of a perfect shuffle (deff)", q.Deff)
	r.Note("%s", mixingMeaning(p))
}

// mixingMeaning rates the quality for training, by thresholds from simulated training on sorted
// labels.
func mixingMeaning(p *iterable.Plan) string {
	switch k, batch := p.Quality.Independent, float64(p.GlobalBatch); {
	case k >= float64(p.Rows):
		return "The shuffle buffer holds all rows: batches are as good as those of a perfect shuffle."
	case k >= batch:
		return "At least as many independent units as rows in a batch: training hardly differs from a perfect shuffle, even on sorted data."
	case k >= batch/4:
		return "Enough for data that is mixed in part when it is written; on data that is fully sorted by label, training loses a little."
	}
	return "Few independent units: fine for data that was mixed when it was written, but on sorted data batches are lopsided and training suffers."
}
