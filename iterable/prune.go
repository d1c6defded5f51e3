package iterable

import (
	"context"
	"slices"
	"sync"

	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/rule"
)

// shardStats are the statistics of a shard, read once for all its row groups.
type shardStats struct {
	once  sync.Once
	stats *rowgroup.ShardStats
	err   error
}

// look finds out what is to be read of a row group, and hands on what it finds without reading.
func (r *ruleReader) look(ctx context.Context, g int) ([]*ruleRun, error) {
	d, rows := r.dataset, r.dataset.data.Groups[g].Rows
	verdict, err := r.verdict(ctx, g)
	if err != nil || verdict == rule.None {
		return nil, err
	}
	passed := verdict == rule.All
	if rules := d.rules; passed && rules.keep == nil && rules.key < 0 && rules.weight < 0 {
		if sel := rules.newSelector().begin(g, 0, rows); !sel.empty() {
			r.found(g, 0, rows, sel)
		}
		return nil, nil
	}
	return r.cut(g, 0, rows, passed), nil
}

// cut cuts rows of a row group into runs of bounded size, at the edges of pages.
func (r *ruleReader) cut(g int, lo, hi int64, passed bool) (runs []*ruleRun) {
	d := r.dataset
	n := d.runs(g)
	edges := d.manifest.PageEdges(g)
	most := d.data.Groups[g].Rows / n
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
		runs = append(runs, &ruleRun{lo: lo, hi: end, passed: passed})
		lo = end
	}
	return runs
}

// verdict asks the filter what is known of a row group before it is read.
func (r *ruleReader) verdict(ctx context.Context, g int) (rule.Verdict, error) {
	d, s := r.dataset, int(r.dataset.data.Groups[g].Shard)
	if d.rules.filter == nil {
		return rule.All, nil
	}
	if v := d.rules.prune(d.manifest.PartitionStats(s)); v != rule.Some {
		return v, nil
	}
	return rule.Some, nil
}
