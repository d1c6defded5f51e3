package main

import (
	"context"
	"errors"
	"time"

	"github.com/shardfeed/shardfeed"
	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/term"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/text"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/shard"
)

// warmDecoded is the decoded part of warm's result; sizes are in bytes.
type warmDecoded struct {
	Columns int     `json:"columns"` // that are worth keeping
	There   int64   `json:"there_bytes"`
	Wrote   int64   `json:"wrote_bytes"`
	Lacking int     `json:"lacking_row_groups"` // that found no room
	Seconds float64 `json:"seconds"`
}

// warmDecoded keeps columns of the shards decoded.
func (a *app) warmDecoded(ctx context.Context, ds *shardfeed.Dataset, shards []*warmShard) (*warmDecoded, error) {
	begin := time.Now()
	groups := 0
	wanted := map[string]map[int32]bool{}
	for _, s := range shards {
		wanted[s.URI] = s.rowGroups
		groups += len(s.rowGroups)
	}
	bar := term.NewProgress(a.stderr, "decode", int64(groups))
	defer bar.Close()
	before := 0
	kept, err := ds.KeepDecoded(ctx, func(s shard.Shard, rowGroup int32) bool { return wanted[s.URI][rowGroup] }, func(n, _ int) {
		bar.Add(n - before)
		before = n
	})
	if errors.Is(err, iterable.ErrNoTier) {
		return nil, usagef("--decoded needs a --decoded-limit for local files, as in 100GiB, and one above 0")
	}
	return &warmDecoded{
		Columns: kept.Columns, There: kept.There, Wrote: kept.Wrote, Lacking: kept.Lacking, Seconds: time.Since(begin).Seconds(),
	}, err
}

func (d *warmDecoded) report(r *term.Report) {
	r.Section("decoded")
	r.Fact("worth it", "%s", text.Plural(int64(d.Columns), "column"))
	r.Fact("were there", "%v", mem.Bytes(d.There))
	r.Fact("decoded", "%v in %s, %.1f MB/s", mem.Bytes(d.Wrote), term.Seconds(d.Seconds), float64(d.Wrote)/1e6/max(d.Seconds, 1e-6))
	if d.Lacking > 0 {
		r.Fact("found no room", "%s: raise --decoded-limit, --cache-limit or --memory", text.Plural(int64(d.Lacking), "row group"))
	}
}
