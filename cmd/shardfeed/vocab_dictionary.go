package main

import (
	"context"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/table"
)

// shardsAtOnce are the shards whose dictionaries are read at a time: small reads, which a remote
// store answers slowly.
const shardsAtOnce = 16

// dictionaries finds the words of all row groups whose dictionaries suffice without reading rows,
// and returns the others, in order.
func (f *vocabulary) dictionaries(ctx context.Context, m *rowgroup.Reader, live *table.Live, words map[string]int64) ([]int, error) {
	groups := m.Groups()
	left := make([]bool, len(groups))
	var mu sync.Mutex // of f and words
	tasks, ctx := errgroup.WithContext(ctx)
	tasks.SetLimit(shardsAtOnce)
	for lo := 0; lo < len(groups); {
		first, n := lo, sameShard(groups[lo:])
		lo += n
		tasks.Go(func() error {
			s, err := m.ShardStats(ctx, int(groups[first].Shard))
			for i := first; i < first+n && err == nil; i++ {
				if live != nil && live.Count(i, 0, groups[i].Rows) < groups[i].Rows { // a dictionary has the words of deleted rows, too
					left[i] = true
					continue
				}
				var found groupWords
				if found, err = wordsOf(ctx, s, groups[i]); err == nil {
					mu.Lock()
					left[i] = !f.add(found, words)
					mu.Unlock()
				}
			}
			return err
		})
	}
	if err := tasks.Wait(); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(allGroups(len(groups)), func(g int) bool { return !left[g] }), nil
}

// sameShard is the number of groups at the front that are of one shard.
func sameShard(groups []rowgroup.Group) int {
	if n := slices.IndexFunc(groups, func(g rowgroup.Group) bool { return g.Shard != groups[0].Shard }); n > 0 {
		return n
	}
	return len(groups)
}

// groupWords is the vocabulary of a row group, as far as its dictionary gives it.
type groupWords struct {
	known       bool
	rows, nulls int64
	words       *column.Array // nil: no words
}

// wordsOf asks a row group for its words: its directory, its statistics, else its dictionary.
func wordsOf(ctx context.Context, s *rowgroup.ShardStats, g rowgroup.Group) (groupWords, error) {
	k := s.Group(int(g.RowGroup)).Column(0)
	switch {
	case !k.NullsKnown:
		return groupWords{}, nil
	case k.Nulls == k.Rows:
		return groupWords{known: true, rows: g.Rows, nulls: g.Rows}, nil
	}
	words, err := k.Distinct, error(nil)
	if words == nil {
		words, err = s.Dictionary(ctx, int(g.RowGroup), 0)
	}
	return groupWords{known: err == nil && words != nil && words.Field.Kind == column.Binary, rows: g.Rows, nulls: k.Nulls, words: words}, err
}

// add adds the words of a row group, and reports whether they are known.
func (f *vocabulary) add(g groupWords, words map[string]int64) bool {
	if !g.known {
		return false
	}
	f.Rows += g.rows
	f.Nulls += g.nulls
	if g.words != nil {
		for i := range g.words.Len {
			countWord(words, g.words.Data[g.words.Offsets[i]:g.words.Offsets[i+1]])
		}
	}
	return true
}
