package samples

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/rule"
)

const (
	prunedBytes  = 256 << 10 // of a row group's rule columns: less is read as fast as its statistics
	deepBytes    = 1 << 20   // of them: less is read as fast as dictionaries and bloom filters
	keptFooters  = 64        // shards whose statistics are kept while their row groups are looked at
	leastSkipped = 8         // pages are left out if they have 1/leastSkipped of a row group's rows
)

// A footer is the statistics of a shard, read once for its row groups.
type footer struct {
	mu    sync.Mutex // while they are read and asked
	stats *rowgroup.ShardStats
}

// footers are the ones that were read last.
type footers struct {
	mu    sync.Mutex
	all   map[int]*footer // by shard
	order []int
}

// of returns the place of a shard's.
func (f *footers) of(shard int) *footer {
	f.mu.Lock()
	defer f.mu.Unlock()
	if x := f.all[shard]; x != nil {
		return x
	}
	if f.all == nil {
		f.all = map[int]*footer{}
	}
	if len(f.order) == keptFooters {
		delete(f.all, f.order[0])
		f.order = f.order[1:]
	}
	x := &footer{}
	f.all[shard], f.order = x, append(f.order, shard)
	return x
}

// look finds out what is to be read of a row group, and hands on what it finds without reading.
func (r *ruleReader) look(ctx context.Context, g int) (runs []*Run, err error) {
	ranges, err := r.ranges(ctx, g)
	if err != nil {
		return nil, err
	}
	for _, x := range ranges {
		if x.verdict != rule.All || r.dataset.Rules.readsMore() {
			runs = append(runs, r.cut(g, x.lo, x.hi, x.verdict == rule.All)...)
		} else if sel := r.dataset.Rules.NewSelector().Begin(g, x.lo, x.hi); !sel.empty() {
			r.Found(g, x.lo, x.hi, sel)
		}
	}
	return runs, nil
}

// A judged is rows of a row group, and what the filter says of them before they are read.
type judged struct {
	lo, hi  int64
	verdict rule.Verdict
}

// ranges asks the filter about ever smaller parts of the data, as long as it does not know: the
// partition, the row group, the pages. It leaves out the rows that it drops.
func (r *ruleReader) ranges(ctx context.Context, g int) ([]judged, error) {
	d := r.dataset
	group := d.List.Groups[g]
	if group.Rows == 0 {
		return nil, nil
	}
	verdict := rule.All
	if d.Rules.filter != nil {
		verdict = d.Rules.prunePartition(d.Manifest, int(group.Shard))
	}
	fetch, _ := d.Manifest.RuleBytes(g)
	if verdict == rule.Some && fetch >= cmp.Or(d.PruneFrom, prunedBytes) {
		return r.askFooter(ctx, g, fetch)
	}
	return wholly(group.Rows, verdict), nil
}

// wholly is a verdict on all rows of a row group.
func wholly(rows int64, v rule.Verdict) []judged {
	if v == rule.None {
		return nil
	}
	return []judged{{0, rows, v}}
}

// askFooter asks the filter about the statistics of a row group of fetch bytes: the shard's
// footer, the page index, dictionaries and bloom filters.
func (r *ruleReader) askFooter(ctx context.Context, g int, fetch int64) ([]judged, error) {
	d, group := r.dataset, r.dataset.List.Groups[g]
	shard, index := int(group.Shard), int(group.Index)
	f := r.footers.of(shard)
	f.mu.Lock()
	defer f.mu.Unlock()
	var err error
	if f.stats == nil {
		if f.stats, err = d.Manifest.ShardStats(ctx, shard); err != nil {
			return nil, err
		}
	}
	if v := d.Rules.prune(f.stats.Group(index)); v != rule.Some {
		return wholly(group.Rows, v), nil
	}
	pages, err := f.stats.Pages(ctx, index)
	if err != nil {
		return nil, err
	}
	if some := r.judge(pages, group.Rows); some != nil {
		return *some, nil
	}
	if fetch >= cmp.Or(d.PruneFrom, deepBytes) {
		if err := f.stats.Deepen(ctx, index); err != nil {
			return nil, err
		}
	}
	return wholly(group.Rows, d.Rules.prune(f.stats.Group(index))), nil
}

// judge asks the filter about pages. It returns nil where that leaves out too little.
func (r *ruleReader) judge(pages []rowgroup.RowRange, rows int64) *[]judged {
	all, skipped := []judged{}, int64(0)
	for _, p := range pages {
		v := r.dataset.Rules.prune(p.Stats)
		switch last := len(all) - 1; {
		case v == rule.None:
			skipped += p.Hi - p.Lo
		case last >= 0 && all[last].hi == p.Lo && all[last].verdict == v:
			all[last].hi = p.Hi
		default:
			all = append(all, judged{p.Lo, p.Hi, v})
		}
	}
	if len(pages) == 0 || skipped < rows/leastSkipped {
		return nil
	}
	return &all
}

// cut cuts rows of a row group into runs of bounded size, at the edges of pages.
func (r *ruleReader) cut(g int, lo, hi int64, passed bool) (runs []*Run) {
	d := r.dataset
	n, steps := d.runs(g)
	edges := d.Manifest.PageEdges(g)
	most, step := d.List.Groups[g].Rows/n, int64(0)
	if steps > 1 {
		step = max(1, most/steps)
	}
	for lo < hi {
		end := hi
		if n > 1 && hi-lo > most {
			i, _ := slices.BinarySearch(edges, lo+most+1) // edges[:i] are at most lo+most
			if i > 0 && edges[i-1] > lo {
				end = edges[i-1]
			} else if i < len(edges) {
				end = min(hi, edges[i])
			}
		}
		runs = append(runs, &Run{lo: lo, hi: end, step: step, passed: passed})
		lo = end
	}
	return runs
}
