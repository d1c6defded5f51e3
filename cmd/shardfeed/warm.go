package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"github.com/shardfeed/shardfeed"
	"github.com/shardfeed/shardfeed/cache"
	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/term"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/text"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/shard"
)

// warmAtOnce is how many shards are fetched at a time.
const warmAtOnce = 8

func (a *app) warm() *cobra.Command {
	f, ranks, decoded := &flags{}, &warmRanks{}, false
	f.RequireCache, f.inFiles = true, true
	c := &cobra.Command{
		Use:   "warm [flags] ADDRESS...",
		Short: "Fetch shards into the cache on this machine's disk, and decode them there",
		Long: `warm fetches what a run with the same columns will read into the cache on this machine's disk, so
that already its first epoch runs at the speed of the disk. What is there is not fetched again:
warm can be stopped at any time and started again. It exits with 0 only when all of it is there.

With --where and the other flags of rows it leaves out row groups of which no row is chosen. What
it counts for that is kept beside the index, so the run does not count again.

With --node and --nodes it fetches what the ranks of this node will read in all epochs of a shuffled
run, which is its part of the data and no more: all epochs then come from this disk. The run's plan
(--plan), or its --shuffle, --seed and --world-size, say what that is; --ranks names the ranks
themselves. It is noted beside the cache, so that the ranks of a run may sit where their data is.

With --world-size alone each rank fetches a part of its own: the row groups in file order, cut into
contiguous parts of equal bytes. Ranks on one machine share its cache and together fetch
everything once.

With --decoded it decodes the columns too, and keeps those decoded that are worth it, so that
already the first epoch need not decode them; see --decoded-limit. Files of this machine can be kept
decoded as well.

With --sources it fetches what all sources read, each under its own rules; what two of them share
is fetched once.`,
		Example: `  shardfeed warm s3://bucket/table
  shardfeed warm hdfs:///data/table --columns token_ids,label --cache-limit 500GiB
  shardfeed warm s3://bucket/table --decoded
  shardfeed warm /data/table --decoded --decoded-limit 100GiB
  shardfeed warm s3://bucket/table --where 'day >= "2026-11-01"'
  shardfeed warm --sources sources.json
  shardfeed warm s3://bucket/table --plan s3://bucket/run.plan --seed 7 --node 3 --nodes 16
  shardfeed warm s3://bucket/table --shuffle --seed 7 --ranks 8-15 --world-size 64
  shardfeed warm s3://bucket/table --rank $SLURM_LOCALID --world-size $SLURM_NTASKS_PER_NODE`,
	}
	fs := c.Flags()
	f.warms(fs, ranks, &decoded)
	return a.verb(c, func(ctx context.Context, addresses []string) error {
		if err := f.check(ctx, fs); err != nil {
			return err
		}
		if err := ranks.check(fs, f); err != nil {
			return err
		}
		w, err := a.warmUp(ctx, addresses, f, ranks.of, decoded)
		if err != nil {
			return err
		}
		return errors.Join(a.print(f, w, w.report()), w.verdict())
	})
}

// warms registers the flags that choose the data of a run, and of the cache.
func (f *flags) warms(fs *pflag.FlagSet, ranks *warmRanks, decoded *bool) {
	f.add(fs, "what")
	ranks.flags(fs)
	f.add(fs, "rank", "json", "rows", "sources", "tokenize", "pack", "bucket", "steps", "order", "storage", "cache.kept")
	setting{set: "cache", name: "decoded", field: decoded, help: "decode the columns, and keep those decoded that are worth it"}.register(fs)
}

// warmth is the result of warm; sizes are in bytes.
type warmth struct {
	Directory string  `json:"directory"`
	Limit     int64   `json:"limit_bytes"`
	Shards    int     `json:"shards"`
	RowGroups int     `json:"row_groups"`
	Bytes     int64   `json:"bytes"`         // of the projected columns of these row groups
	There     int64   `json:"there_bytes"`   // of them before
	Fetched   int64   `json:"fetched_bytes"` // from the servers
	Lacking   int64   `json:"lacking_bytes"` // of them after
	Seconds   float64 `json:"seconds"`
	Complete  bool    `json:"complete"`

	Decoded *warmDecoded `json:"decoded,omitempty"` // with --decoded

	shared int64 // bytes of other columns in the cache's files of these shards
	mu     sync.Mutex
}

// warmUp fetches what some ranks read, or a part of all by rank and world size.
func (a *app) warmUp(ctx context.Context, addresses []string, f *flags, ranks []int, decoded bool) (w *warmth, err error) {
	begin := time.Now()
	for _, address := range f.at(addresses).AllAddresses() {
		if !decoded && !shardfeed.AnyRemote([]string{address}) {
			return nil, &shard.Error{URI: address, Err: errors.New("local files need no warming: runs read them in place; --decoded keeps them decoded")}
		}
	}
	ds, err := a.open(ctx, addresses, f)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, ds.Close(ctx)) }()
	shards, err := f.toWarm(ds, ranks)
	if err != nil {
		return nil, err
	}
	remote := shards
	if decoded {
		remote = slices.DeleteFunc(slices.Clone(shards), func(s *warmShard) bool { return !shardfeed.IsRemote(s.URI) })
	}
	w = &warmth{Complete: true, Shards: len(remote)}
	if w.Directory, err = a.warmRemote(ctx, ds, remote, f, w); err == nil && w.Complete && f.NoteLanes {
		err = ds.NoteReads(ranks, f.worldSize, f.warmSteps())
	}
	w.Seconds = time.Since(begin).Seconds()
	if err == nil && decoded {
		w.Decoded, err = a.warmDecoded(ctx, ds, shards)
	}
	return w, err
}

// warmRemote fetches the shards of servers. It returns the cache's directory.
func (a *app) warmRemote(ctx context.Context, ds *shardfeed.Dataset, shards []*warmShard, f *flags, w *warmth) (dir string, err error) {
	c, dir := ds.Cache()
	if len(shards) == 0 {
		return dir, nil
	}
	if w.Limit, err = f.CacheLimitIn(dir); err != nil {
		return dir, err
	}
	for _, s := range shards {
		if !shardfeed.IsRemote(s.URI) {
			return dir, &shard.Error{URI: s.URI, Err: errors.New("local files need no warming: leave it out of the list")}
		}
		held, err := c.Held(ds.Drivers(), s.Shard, s.spans)
		if err != nil {
			return dir, err
		}
		s.missing = s.bytes - held
		w.There += held
		w.Bytes += s.bytes
		w.RowGroups += len(s.rowGroups)
	}
	fitting, err := a.fitting(ds, shards, w)
	if err == nil {
		err = a.fill(ctx, ds, fitting, w)
	}
	if err == nil {
		err = w.look(ds, shards)
	}
	return dir, err
}

// fitting returns the shards, or parts of them, that the cache can keep. It prints a note unless
// that is all of them.
func (a *app) fitting(ds *shardfeed.Dataset, shards []*warmShard, w *warmth) (all []*warmShard, err error) {
	c, _ := ds.Cache()
	wanted := make([]cache.Wanted, len(shards))
	need := int64(0)
	for i, s := range shards {
		wanted[i] = cache.Wanted{Shard: s.Shard, Spans: s.spans}
		_, growth, err := c.Fitting(ds.Drivers(), wanted[i], math.MaxInt64)
		if err != nil {
			return nil, err
		}
		need += growth
	}
	room, err := c.RoomFor(ds.Drivers(), wanted)
	if err != nil {
		return nil, err
	}
	freed, err := c.Trim(room, need-room.Free)
	if err != nil {
		return nil, err
	}
	w.shared = max(0, room.Bytes-freed-w.There)
	left, over := room.Free+freed, int64(0)
	for i, s := range shards {
		spans, growth, err := c.Fitting(ds.Drivers(), wanted[i], left)
		if err != nil {
			return nil, err
		}
		held, err := c.Held(ds.Drivers(), s.Shard, spans)
		if err != nil {
			return nil, err
		}
		left -= growth
		over += s.missing - (spansBytes(spans) - held)
		if len(spans) > 0 {
			part := *s
			part.spans = spans
			all = append(all, &part)
		}
	}
	if over > 0 {
		a.say("%v of %v will not fit into the cache of %v and are not fetched", mem.Bytes(over), mem.Bytes(w.Bytes), mem.Bytes(w.Limit))
	}
	return all, nil
}

func (f *flags) warmSteps() iterable.StreamOptions {
	return iterable.StreamOptions{BatchSize: f.BatchSize, Tail: f.tailOrDefault()}
}

// toWarm returns the shards to fetch.
func (f *flags) toWarm(ds *shardfeed.Dataset, ranks []int) ([]*warmShard, error) {
	if ranks == nil {
		kept, err := ds.KeptGroups()
		if err != nil {
			return nil, err
		}
		return warmShards(ds.Manifests(), kept, f.rank, f.worldSize), nil
	}
	rows, err := ds.Reads(ranks, f.worldSize, f.warmSteps())
	if err != nil {
		return nil, err
	}
	return laneShards(ds.Manifests(), rows)
}

// fill fetches what is missing of the shards, several at a time.
func (a *app) fill(ctx context.Context, ds *shardfeed.Dataset, shards []*warmShard, w *warmth) error {
	c, _ := ds.Cache()
	bar := term.NewByteProgress(a.stderr, "warm", w.Bytes)
	defer bar.Close()
	tasks, ctx := errgroup.WithContext(ctx)
	tasks.SetLimit(warmAtOnce)
	for _, s := range shards {
		tasks.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			fetched, err := c.Fill(ctx, ds.Drivers(), s.Shard, s.spans, func(n int64) { bar.Add(int(n)) })
			w.mu.Lock()
			w.Fetched += fetched
			w.mu.Unlock()
			if errors.Is(err, cache.ErrFull) {
				return nil
			}
			return err
		})
	}
	return tasks.Wait()
}

// look counts what is held in the end: shards that were filled first may have been evicted since.
func (w *warmth) look(ds *shardfeed.Dataset, shards []*warmShard) error {
	c, _ := ds.Cache()
	for _, s := range shards {
		held, err := c.Held(ds.Drivers(), s.Shard, s.spans)
		if err != nil {
			return err
		}
		w.Lacking += s.bytes - held
	}
	w.Complete = w.Lacking == 0
	return nil
}

func (w *warmth) verdict() error {
	if w.Complete {
		return nil
	}
	if w.shared > w.Bytes/20 {
		return fmt.Errorf("%s: %v of %v did not fit into the cache of %v, whose files of these shards hold %v of other columns: raise --cache-limit, or free space with 'shardfeed cache clear'",
			w.Directory, mem.Bytes(w.Lacking), mem.Bytes(w.Bytes), mem.Bytes(w.Limit), mem.Bytes(w.shared))
	}
	return fmt.Errorf("%s: %v of %v did not fit into the cache of %v: raise --cache-limit, free space with 'shardfeed cache gc', or name fewer --columns",
		w.Directory, mem.Bytes(w.Lacking), mem.Bytes(w.Bytes), mem.Bytes(w.Limit))
}

func (w *warmth) report() *term.Report {
	r := &term.Report{}
	if w.Shards == 0 && w.Decoded != nil { // files of this machine
		w.Decoded.report(r)
		return r
	}
	r.Section("cache in " + w.Directory)
	r.Fact("wanted", "%v: %s, %s", mem.Bytes(w.Bytes), text.Plural(int64(w.Shards), "shard"), text.Plural(int64(w.RowGroups), "row group"))
	r.Fact("was there", "%v", mem.Bytes(w.There))
	r.Fact("fetched", "%v in %s, %.1f MB/s", mem.Bytes(w.Fetched), term.Seconds(w.Seconds), float64(w.Fetched)/1e6/max(w.Seconds, 1e-6))
	r.Fact("did not fit", "%v", mem.Bytes(w.Lacking))
	if d := w.Decoded; d != nil {
		d.report(r)
	}
	return r
}
