package iterable

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/shardfeed/shardfeed/internal/cores"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/iterable/internal/ahead"
	"github.com/shardfeed/shardfeed/iterable/internal/saved"
	"github.com/shardfeed/shardfeed/iterable/internal/tables"
	"github.com/shardfeed/shardfeed/iterable/internal/transform"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/rule"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A Verification has the findings of Verify.
type Verification struct {
	Shards    int
	RowGroups int   // of shards with a footer that can be read
	Rows      int64 // of them
	LostRows  int64 // of them
	Read      int64 // encoded bytes
	Lost      []Loss

	data *shuffle.Manifest // of the shards with a footer
	lost map[int]bool      // its groups
}

// verifyPart is the part of the memory that the decoded rows of one row group may take.
const verifyPart = 4

// Verify reads and decodes what the options name of every shard, and lists what is lost, as streams
// would find it. It uses the options of Reading, Memory, IndexDir and Events; verified,
// if not nil, is called after each row group with the rows so far, one call at a time.
func Verify(ctx context.Context, stores shard.Stores, addresses []string, o Options, verified func(rows, of int64)) (*Verification, error) {
	o, err := o.parse()
	if err != nil {
		return nil, fmt.Errorf("options: %w", err)
	}
	shards, t, err := o.discover(ctx, stores, addresses, nil, o.Manifest.Of(0))
	if err != nil {
		return nil, err
	}
	v := &Verification{Shards: len(shards), lost: map[int]bool{}}
	if shards, err = v.footers(ctx, stores, shards, o.Events); err != nil || len(shards) == 0 {
		return v, err
	}
	pool := &mem.Pool{Limit: o.DecodeLimit}
	ro := o.rowgroupOptions(pool, nil)
	ro.Events.FootersRead = nil // footers has reported them
	ro.Table = tables.Part(tables.Kept(t, shards), addresses)
	m, err := rowgroup.Open(ctx, stores, shards, ro)
	if err != nil {
		return nil, err
	}
	v.data, v.Rows, v.RowGroups = saved.ManifestOf(m), m.NumRows(), len(m.Groups())
	limit := cmp.Or(o.Memory, o.DefaultMemory, mem.DefaultLimit())
	err = v.groups(ctx, m, newSizes(m, &transform.Columns{}, shard.ReadsOf(stores, shards) > 0), ahead.Fetchers(o.Fetchers, shard.ReadsOf(stores, shards)), limit, verified)
	slices.SortFunc(v.Lost, func(a, b Loss) int {
		return cmp.Or(cmp.Compare(a.URI, b.URI), cmp.Compare(a.RowGroup, b.RowGroup))
	})
	return v, errors.Join(err, m.Close())
}

// footers reads the footer of each shard, and returns the shards that have one.
func (v *Verification) footers(ctx context.Context, stores shard.Stores, shards []shard.Shard, e Events) ([]shard.Shard, error) {
	var mu sync.Mutex
	read := 0
	lost := map[int]bool{}
	tasks, ctx := errgroup.WithContext(ctx)
	tasks.SetLimit(max(shard.ReadsOf(stores, shards), cores.Number()))
	for i := range shards {
		tasks.Go(func() error {
			_, err := rowgroup.Footers(ctx, stores, shards[i:i+1], rowgroup.Options{})
			mu.Lock()
			defer mu.Unlock()
			if read++; e.FootersRead != nil {
				e.FootersRead(read, len(shards))
			}
			if err == nil || !rowgroup.IsLoss(err) {
				return err
			}
			lost[i] = true
			v.Lost = append(v.Lost, newLoss(shards[i].URI, rowgroup.Rows{RowGroup: -1}, err))
			return nil
		})
	}
	if err := tasks.Wait(); err != nil {
		return nil, err
	}
	var good []shard.Shard
	for i, s := range shards {
		if !lost[i] {
			good = append(good, s)
		}
	}
	return good, nil
}

// groups reads all row groups, as many at a time as the limit has memory for.
func (v *Verification) groups(ctx context.Context, m *rowgroup.Reader, s *sizes, fetchers int, limit int64, verified func(rows, of int64)) error {
	atOnce := max(fetchers, cores.Number())
	done := int64(0)
	decoders := make(chan *rowgroup.Decoder, atOnce)
	for range atOnce {
		decoders <- m.NewDecoder()
	}
	var mu sync.Mutex
	room := semaphore.NewWeighted(limit)
	tasks, within := errgroup.WithContext(ctx)
	tasks.SetLimit(atOnce)
	for g, group := range m.Groups() {
		step := s.step(g, max(1, limit/verifyPart))
		c := s.cost(g, 0, step, false)
		at := verifyStep{rows: step, room: min(c.bytes()+c.scratch, limit/verifyPart)}
		need := min(limit, s.fetchBytes(g, group.Rows)+c.bytes()+c.scratch) // one always fits
		if room.Acquire(within, need) != nil {
			break // one failed, or ctx ended
		}
		tasks.Go(func() error {
			defer room.Release(need)
			rows := rowgroup.Rows{Shard: int(group.Shard), RowGroup: int(group.RowGroup), Hi: group.Rows}
			d := <-decoders
			read, err := verifyGroup(within, m, d, rows, at)
			decoders <- d
			if err != nil && !rowgroup.IsLoss(err) {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			v.Read += read
			if err != nil {
				v.lost[g] = true
				v.LostRows += group.Rows
				v.Lost = append(v.Lost, newLoss(m.Shards()[group.Shard].URI, rows, err))
			}
			if done += group.Rows; verified != nil {
				verified(done, v.Rows)
			}
			return nil
		})
	}
	err := tasks.Wait()
	for range atOnce {
		(<-decoders).Close()
	}
	return cmp.Or(err, ctx.Err())
}

// A verifyStep is the number of rows of a group that are decoded at once. Estimates count pages
// whole, so that a step grows by the bytes that were decoded.
type verifyStep struct {
	rows int64
	room int64 // bytes that the memory of a step may take
}

// scratchShare is the part of the room that blocks may take for the step to grow: it doubles, and
// decoding takes memory beside them.
const scratchShare = 8

// decoded grows the step if the blocks of the rows took little of the room.
func (s *verifyStep) decoded(bytes int64) {
	if scratchShare*bytes <= s.room && s.rows < 1<<62 {
		s.rows *= 2
	}
}

// tooLarge sets the step to half of these rows, for good.
func (s *verifyStep) tooLarge(rows int64) { s.rows, s.room = (rows+1)/2, -1 }

// verifyGroup decodes a row group step by step.
func verifyGroup(ctx context.Context, m *rowgroup.Reader, d *rowgroup.Decoder, rows rowgroup.Rows, step verifyStep) (read int64, err error) {
	raw, err := m.Fetch(ctx, rows)
	if err != nil {
		return 0, err
	}
	defer raw.Release()
	for lo := int64(0); ; {
		hi := lo + min(rows.Hi-lo, step.rows)
		raw.Narrow(lo, hi)
		var bytes int64
		err := raw.Refetching(ctx, func() error {
			blocks, err := d.Decode(raw, rowgroup.Layout{})
			bytes = 0
			for _, b := range blocks {
				bytes += b.Bytes()
				b.Release()
			}
			return err
		})
		switch {
		case ctx.Err() != nil:
			return raw.Bytes(), ctx.Err()
		case errors.Is(err, rowgroup.ErrTooLarge) && hi-lo > 1: // these rows are longer than most
			step.tooLarge(hi - lo)
		case err != nil || hi == rows.Hi:
			return raw.Bytes(), err
		default:
			lo = hi
			step.decoded(bytes)
		}
	}
}

// WriteGood writes a rows file of the rows that are not lost, of the shards whose footers can be
// read; see rule.WriteRowList.
func (v *Verification) WriteGood(w io.Writer) error {
	if v.data == nil {
		return errors.New("no shard can be read, so there are no good rows")
	}
	return rule.WriteRowList(w, v.data, func(group int, bits []uint64) error {
		if !v.lost[group] {
			for row := range v.data.Groups[group].Rows {
				bits[row/64] |= 1 << (row % 64)
			}
		}
		return nil
	})
}
