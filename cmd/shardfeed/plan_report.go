package main

import (
	"fmt"
	"math"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/shuffle"
)

func planReport(p *iterable.Plan, chosen rowChoice) *report {
	r := &report{}
	r.section("data")
	r.fact("rows", "%s in %s, %s", count(chosen.Rows), plural(int64(p.Shards), "shard"), plural(int64(p.Groups), "row group"))
	r.fact("bytes", "%v uncompressed; of the columns that are read %v encoded, about %v decoded",
		mem.Bytes(p.Bytes), mem.Bytes(p.Encoded), mem.Bytes(p.Decoded))
	if chosen.Rule != "" {
		part := 100 * float64(chosen.Samples) / float64(max(1, chosen.Rows))
		if p.Packed != nil {
			r.fact("samples of an epoch", "%s (rule %s)", count(chosen.Samples), chosen.Rule)
		} else {
			r.fact("rows of an epoch", "%s, %.3g%% (rule %s)", count(chosen.Samples), part, chosen.Rule)
		}
		if chosen.Bytes > 0 {
			r.fact("counted", "in %s, from at most %v of encoded columns", seconds(chosen.Seconds), mem.Bytes(chosen.Bytes))
		}
	}
	planPacking(r, p.Packed)
	planOrder(r, p)
	r.section("steps")
	r.fact("each rank", "%s of %s rows", count(p.Steps), count(int64(p.BatchSize)))
	r.fact("all ranks", "%s x %s = %s rows a step", count(int64(p.WorldSize)), count(int64(p.BatchSize)), count(p.GlobalBatch))
	if rest := p.Rows % max(1, p.GlobalBatch); rest > 0 {
		r.fact("tail", "%s: %s", p.Tail, tailMeaning(p, rest))
	}
	planMemory(r, p)
	if p.Shuffle && p.Params != nil {
		planQuality(r, p)
	}
	if len(p.Proposals) > 0 {
		r.section("proposals")
		for _, s := range p.ProposalsSpelled(option.Flag) {
			r.note("%s", s)
		}
	}
	return r
}

// tailMeaning says what becomes of the last rows, which fill no step.
func tailMeaning(p *iterable.Plan, rest int64) string {
	switch p.Tail {
	case shuffle.Drop:
		return "the last " + plural(rest, "row") + " of an epoch left out"
	case shuffle.Pad:
		return fmt.Sprintf("the last step of an epoch has %s; %s that are marked as not valid fill it", plural(rest, "row"), count(p.GlobalBatch-rest))
	case shuffle.Carry:
		return "the last " + plural(rest, "row") + " of an epoch come in the first step of the next"
	}
	return "the last step of an epoch has " + plural(rest, "row")
}

func planOrder(r *report, p *iterable.Plan) {
	r.section("order")
	if !p.Shuffle {
		r.fact("order", "%s: file order (--shuffle mixes)", shuffle.Sequential)
		r.fact("units", "%s, read one after the other", count(int64(p.Units)))
		return
	}
	if p.Params == nil {
		planMixture(r, p)
		return
	}
	r.fact("order", "%s with seed %d", shuffle.Version, p.Seed)
	more := ""
	if p.Params.Buffer > p.Rows {
		more = ", more than there are"
	}
	r.fact("shuffle buffer", "%s over all ranks%s", plural(p.Params.Buffer, "row"), more)
	r.fact("units", "%s of %s rows in the mean", count(int64(p.Units)), count(p.Rows/int64(max(1, p.Units))))
	shared := ""
	if p.SharedLanes {
		shared = ", some shared by two ranks"
	}
	r.fact("lanes", "%d, %d for a rank%s", p.Params.Lanes, p.LanesPerRank, shared)
	r.fact("quantum, life", "%s a tick, %s to empty a unit", plural(p.Params.Quantum, "row"), plural(p.Params.Life, "tick"))
	r.fact("start, assign", "%s, %s", p.Params.Start, p.Params.Assign)
}

// planMixture says how an epoch is made of the sources.
func planMixture(r *report, p *iterable.Plan) {
	r.fact("order", "%s with seed %d", shuffle.Mixed, p.Seed)
	r.fact("epoch", "%s of %s", plural(p.Rows, "sample"), plural(int64(len(p.Sources)), "source"))
	shared := ""
	if p.SharedLanes {
		shared = ", some shared by two ranks"
	}
	if p.Batching == shuffle.PerSource {
		r.fact("batching", "%s: each step of %s is of one source", p.Batching, plural(p.GlobalBatch, "sample"))
		r.fact("lanes", "of each source, at most %d for a rank%s", p.LanesPerRank, shared)
	} else {
		r.fact("lanes", "%d, %d for a rank%s", p.Lanes, p.LanesPerRank, shared)
	}
	r.section("sources")
	for _, s := range p.Sources {
		more := ""
		if p.Batching == shuffle.PerSource {
			more += "; " + plural(int64(s.Lanes), "lane")
		}
		if s.Kept {
			more += "; it stays decoded"
		}
		r.fact(s.Name, "%s: %s samples of an epoch, %.3gx its %s; %s of the shuffle buffer%s", shareText(s), count(s.Epoch), s.Passes,
			count(s.Samples), count(s.Buffer), more)
	}
}

// shareText is the share of a source, of samples and of tokens where weights are in these.
func shareText(s iterable.PlanSource) string {
	if s.TokensPerSample == 0 {
		return fmt.Sprintf("%.3g%%", 100*s.Share)
	}
	return fmt.Sprintf("%.3g%% of the tokens, %.3g%% of the samples, %.4g tokens each", 100*s.TokenShare, 100*s.Share, s.TokensPerSample)
}

// planPacking says what is in the blocks of an epoch.
func planPacking(r *report, p *iterable.PackPlan) {
	if p == nil {
		return
	}
	if p.Strategy == "bucket" {
		planBuckets(r, p)
		return
	}
	r.section("packing")
	r.fact("blocks", "%s of %s tokens, %s; they are the rows below", count(p.Blocks), count(int64(p.Size)), p.Strategy)
	r.fact("of a unit", "%.1f blocks in the mean", float64(p.Blocks)/float64(max(1, p.Units)))
	switch {
	case p.Tokens == 0:
		r.fact("utilisation", "not known: the rule chooses documents, and this start has read no lengths")
	case p.Counted:
		r.fact("utilisation", "%.2f%%: %s tokens", 100*p.Utilisation, count(p.Tokens))
	default:
		r.fact("utilisation", "about %.2f%%: %s tokens by the footers", 100*p.Utilisation, count(p.Tokens))
	}
}

// planBuckets says what is in the batches of an epoch.
func planBuckets(r *report, p *iterable.PackPlan) {
	r.section("buckets")
	r.fact("batches", "%s of at most %s tokens; they are the rows below", count(p.Blocks), count(int64(p.Size)))
	r.fact("of a unit", "%.1f batches in the mean", float64(p.Blocks)/float64(max(1, p.Units)))
	if p.Utilisation > 0 {
		r.fact("utilisation", "%.2f%% of the tokens of padded batches: %s", 100*p.Utilisation, count(p.Tokens))
	} else {
		r.fact("utilisation", "not known: this start has read no lengths")
	}
}

func planMemory(r *report, p *iterable.Plan) {
	r.section("memory that a rank needs")
	for purpose, bytes := range p.Bound {
		if bytes > 0 {
			r.fact(mem.Purpose(purpose).String(), "%10v", mem.Bytes(bytes))
		}
	}
	verdict := "within the limit of"
	if !p.Fits {
		verdict = "over the limit of"
	}
	r.fact("sum", "%10v, %s %v", mem.Bytes(p.Bound.Total()), verdict, mem.Bytes(p.Memory))
	if p.Fits {
		r.note("A stream reserves more, within the limit, to read ahead on all processors.")
	}
	r.fact("first batch", "after reading %v", mem.Bytes(p.FirstBatch))
	r.fact("amplification", "%.3fx decoded: %s", p.Amplification, amplificationMeaning(p.Amplification))
}

func amplificationMeaning(a float64) string {
	if a <= 1 {
		return "no page lies across the edge of two units"
	}
	return "pages across the edges of units are decoded twice"
}

func planQuality(r *report, p *iterable.Plan) {
	q := p.Quality
	r.section("mixing, should the data be sorted")
	r.fact("units", "%.1f in the mean global batch", q.Units)
	r.fact("independent units", "%s behind a global batch of %s rows (K)", count(int64(math.Round(q.Independent))), count(p.GlobalBatch))
	r.fact("variance", "%.2fx that of a perfect shuffle (deff)", q.Deff)
	r.note("%s", mixingMeaning(p))
}

// mixingMeaning says what the quality means for training; the thresholds come from simulated
// training on sorted labels.
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
