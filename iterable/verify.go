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
	"github.com/shardfeed/shardfeed/iterable/internal/verify"
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
	bad  map[[2]int64]bool // its groups' other rows that are lost
}

// A Check looks for rows in decoded blocks that a run would lose, such as damaged images. Calls are
// concurrent.
type (
	Check  = verify.Check
	BadRow = verify.BadRow
)

// verifyPart is the part of the memory that the decoded rows of one row group may take.
const verifyPart = 4

// Verify reads and decodes what the options name of every shard, and lists what is lost, as streams
// would find it. It uses the options of Reading, Memory, IndexDir and Events; verified,
// if not nil, is called after each row group with the rows so far, one call at a time. check, if not
// nil, makes the check of the decoded rows.
func Verify(ctx context.Context, stores shard.Stores, addresses []string, o Options, verified func(rows, of int64), check func(ctx context.Context, m *rowgroup.Reader) (Check, error)) (*Verification, error) {
	o, err := o.parse()
	if err != nil {
		return nil, fmt.Errorf("options: %w", err)
	}
	shards, t, err := o.discover(ctx, stores, addresses, nil, o.Manifest.Of(0))
	if err != nil {
		return nil, err
	}
	v := &Verification{Shards: len(shards), lost: map[int]bool{}, bad: map[[2]int64]bool{}}
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
	var each Check
	if check != nil {
		if each, err = check(ctx, m); err != nil {
			return nil, errors.Join(err, m.Close())
		}
	}
	err = v.groups(ctx, m, each, newSizes(m, &transform.Columns{}, shard.ReadsOf(stores, shards) > 0), ahead.Fetchers(o.Fetchers, shard.ReadsOf(stores, shards)), limit, verified)
	slices.SortFunc(v.Lost, func(a, b Loss) int {
		return cmp.Or(cmp.Compare(a.URI, b.URI), cmp.Compare(a.RowGroup, b.RowGroup), cmp.Compare(a.Lo, b.Lo), cmp.Compare(a.Column, b.Column))
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
func (v *Verification) groups(ctx context.Context, m *rowgroup.Reader, check Check, s *sizes, fetchers int, limit int64, verified func(rows, of int64)) error {
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
		at := verify.Step{Rows: step, Room: min(c.Bytes()+c.Scratch, limit/verifyPart)}
		need := min(limit, s.fetchBytes(g, group.Rows)+c.Bytes()+c.Scratch) // one always fits
		if room.Acquire(within, need) != nil {
			break // one failed, or ctx ended
		}
		tasks.Go(func() error {
			defer room.Release(need)
			rows := rowgroup.Rows{Shard: int(group.Shard), RowGroup: int(group.RowGroup), Hi: group.Rows}
			d := <-decoders
			read, bad, err := verify.Group(within, m, d, rows, at, check)
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
			} else {
				v.lose(g, m.Shards()[group.Shard].URI, rows.RowGroup, bad)
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

// lose notes rows of a group that are lost.
func (v *Verification) lose(g int, uri string, group int, bad []BadRow) {
	for _, x := range bad {
		place := &rowgroup.Error{Op: "decode", URI: uri, RowGroup: group, Column: x.Column, Page: -1, Err: fmt.Errorf("row %d: %w", x.Row, x.Err)}
		v.Lost = append(v.Lost, Loss{URI: uri, RowGroup: group, Lo: x.Row, Hi: x.Row + 1, Column: x.Column, Page: -1, Err: place})
		if at := [2]int64{int64(g), x.Row}; !v.bad[at] {
			v.bad[at] = true
			v.LostRows++
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
				if !v.bad[[2]int64{int64(group), row}] {
					bits[row/64] |= 1 << (row % 64)
				}
			}
		}
		return nil
	})
}
