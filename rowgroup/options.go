package rowgroup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup/internal/footer"
	"github.com/shardfeed/shardfeed/rowgroup/internal/image"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
	"github.com/shardfeed/shardfeed/shard"
)

// A Pool is memory that is kept for reuse. The zero value works.
type Pool mem.Pool

// Options of Open. The zero value reads all columns and keeps no index.
type Options struct {
	// Columns are dotted paths, or patterns of them as in "num_*" and "meta.f_*", where * matches
	// any characters of one name; nil means all. The exact name of a column wins over a path, and a
	// path over a pattern. The schema's order is kept, whatever the order here. A path within a
	// list or map may leave out the groups of its encoding: "a.list.element.b" and "a.b" are the
	// same. A pattern must leave them out.
	Columns []string

	// RuleColumns are read too, for the rules that choose rows, but are not in the schema unless
	// Columns has them.
	RuleColumns []RuleColumn

	// Table of the shards that [Open] opens; see Part.Table.
	Table *Table

	// MissingIsNull makes a column or partition that some shards lack null there; else Open fails
	// and names the shards.
	MissingIsNull bool

	// Needed defines which types the columns need, by dotted path; see [NeededType]. nil needs
	// none.
	Needed func(path string) schema.NeededType

	// PartitionTypes are the types of partitions by their names, as CheckPartitionType takes them.
	// The others have the type that their values show: int64, float64, bool, date or string.
	PartitionTypes map[string]string

	// Declared reads petastorm's schema beside the shards, and notes in the schema how binary
	// columns are encoded; see [column.Field.Encoding].
	Declared bool

	// ReplaceUTF8 puts U+FFFD in the place of each byte of a string that does not belong to a
	// character; else decoding fails and names the page.
	ReplaceUTF8 bool

	// RowIDs adds the columns RowColumn and SourceColumn, the origin of each row. RowKeys adds the
	// same two without a name, for a reader that derives something from them; RowIDs wins.
	RowIDs, RowKeys bool

	// IndexDir is where footers are kept for the next start. "" keeps none.
	IndexDir string

	// KeepKnown keeps the footers of Part.Footers there too.
	KeepKnown bool

	Parallel int           // footers in flight; 0 means what the shards' store likes, else 16
	Pool     *Pool         // of bytes fetched and decoded; nil means a pool of the manifest's own
	Hot      *footer.Hot   // what is kept in memory for all manifests that share it; nil keeps nothing
	Tier     Tier          // what is kept decoded of shards; nil keeps nothing
	Mapped   *image.Mapped // the tier's images, shared by all manifests; nil keeps no image mapped
	Events   footer.Events
}

const (
	defaultParallel = 16
	maxParallel     = 1024
)

func (o Options) withDefaults(store shard.Store, shards []shard.Shard) Options {
	if o.Parallel == 0 {
		o.Parallel = min(shard.ReadsOf(store, shards), maxParallel)
	}
	if o.Parallel <= 0 {
		o.Parallel = defaultParallel
	}
	if o.Pool == nil {
		o.Pool = &Pool{}
	}
	return o
}

// Validate lists everything that is wrong.
func (o Options) Validate() error {
	var all []error
	if o.Parallel < 0 || o.Parallel > maxParallel {
		all = append(all, fmt.Errorf("parallel is %d, not 1 to %d", o.Parallel, maxParallel))
	}
	if o.Columns != nil && len(o.Columns) == 0 {
		all = append(all, errors.New("no columns are asked for"))
	}
	for _, key := range slices.Sorted(maps.Keys(o.PartitionTypes)) {
		if err := schema.CheckPartitionType(o.PartitionTypes[key]); err != nil {
			all = append(all, fmt.Errorf("the type of partition %q %w", key, err))
		}
	}
	return errors.Join(all...)
}

// footers returns the options of reading footers.
func (o Options) footers() footer.Options {
	return footer.Options{IndexDir: o.IndexDir, KeepKnown: o.KeepKnown, Parallel: o.Parallel, Hot: o.Hot, Events: o.Events}
}

// Footers reads the footers of the shards, or finds them in the index. It uses IndexDir, Parallel,
// Hot and Events of the options.
func Footers(ctx context.Context, store shard.Store, shards []shard.Shard, o Options) ([]footer.Footer, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("options: %w", err)
	}
	return footer.Describe(ctx, store, shards, o.withDefaults(store, shards).footers())
}
