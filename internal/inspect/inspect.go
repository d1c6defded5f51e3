package inspect

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
)

// A Report describes a data set by its footers, with advice for writing it.
type Report struct {
	Total    Content       `json:"total"`
	Shards   []ShardReport `json:"shards"`
	Schemas  int           `json:"schemas"` // distinct ones
	Warnings []Warning     `json:"warnings"`
}

// A ShardReport is the content of one shard.
type ShardReport struct {
	URI          string     `json:"uri"`
	CreatedBy    string     `json:"created_by"`
	RowGroupRows []int64    `json:"row_group_rows"` // of each row group
	SortedBy     []string   `json:"sorted_by"`      // as the writer says
	KeyValues    []KeyValue `json:"key_value_metadata"`
	Content
}

// Content is the content of one shard, or of all.
type Content struct {
	FileBytes       int64    `json:"file_bytes"`
	FooterBytes     int64    `json:"footer_bytes"`
	Rows            int64    `json:"rows"`
	RowGroups       int      `json:"row_groups"`
	LargestRowGroup int64    `json:"largest_row_group_rows"`
	LargestBytes    int64    `json:"largest_row_group_bytes"`            // uncompressed
	LargestEncoded  int64    `json:"largest_row_group_compressed_bytes"` // as stored
	Compressed      int64    `json:"compressed_bytes"`
	Uncompressed    int64    `json:"uncompressed_bytes"`
	PageIndex       Share    `json:"page_index"`
	Columns         []Column `json:"columns"`
}

// Share is a number out of a total.
type Share string

const (
	ShareNone Share = "none"
	ShareSome Share = "some"
	ShareAll  Share = "all"
)

// A Column is one primitive column, of a shard or of all.
type Column struct {
	Path         string   `json:"path"`
	Type         string   `json:"type"`
	Tensor       []int    `json:"tensor,omitempty"` // shape of the tensors whose items the values are
	Values       int64    `json:"values"`
	Compressed   int64    `json:"compressed_bytes"`
	Uncompressed int64    `json:"uncompressed_bytes"`
	Codecs       []string `json:"codecs"`
	Encodings    []string `json:"encodings"`
	Pages        int64    `json:"pages"`              // 0 when there is no page index
	PageBytes    int64    `json:"page_bytes"`         // mean of the pages, as stored; of a first page when there is no page index
	LargestPage  int64    `json:"largest_page_bytes"` // as stored; 0 when there is no page index

	// From the statistics of all row groups, or null if one of them has none. Bounds are formatted
	// like cat; writers may shorten long ones.
	Nulls *int64          `json:"nulls"`
	Min   json.RawMessage `json:"min"`
	Max   json.RawMessage `json:"max"`

	nth        int   // of the columns of this path in a shard: names may be double, and a dot may be part of one
	chunks     int64 // with values
	indexed    int64 // of them with an offset index
	pageBytes  int64 // in Pages
	physical   rowgroup.Physical
	repeated   bool
	unreadable string // why, or ""
	span       span
}

// Inspect reads the footers of the shards, or finds them in the index, and of shards without a page
// index a few page headers. It uses IndexDir, Parallel and Events of the options.
func Inspect(ctx context.Context, store shard.Store, shards []shard.Shard, o rowgroup.Options) (*Report, error) {
	footers, err := rowgroup.Footers(ctx, store, shards, o)
	if err != nil {
		return nil, err
	}
	more, err := details(ctx, store, shards)
	if err != nil {
		return nil, err
	}
	total, tallies := newTally(), make([]*tally, len(footers))
	var samples []sample
	for i := range footers {
		tallies[i] = newTally()
		add(&footers[i], shards[i].Size, tallies[i], total)
		for _, t := range []*tally{tallies[i], total} {
			if err := t.detail(&footers[i], more[i]); err != nil {
				return nil, &rowgroup.Error{Op: "footer", URI: shards[i].URI, RowGroup: -1, Page: -1, Err: err}
			}
		}
		samples = append(samples, tallies[i].samples(i, &footers[i])...)
	}
	if err := measure(ctx, store, shards, samples, o); err != nil {
		return nil, err
	}
	r := &Report{}
	schemas := map[string]bool{}
	for i, f := range footers {
		schemas[f.Schema] = true
		total.addSamples(tallies[i])
		r.Shards = append(r.Shards, ShardReport{
			URI: shards[i].URI, CreatedBy: f.CreatedBy, RowGroupRows: rowsOfGroups(&footers[i]),
			SortedBy: sortedBy(&footers[i], more[i]), KeyValues: keyValues(more[i]), Content: tallies[i].finish(),
		})
	}
	r.Schemas = len(schemas)
	r.Total = total.finish()
	r.Warnings = r.warnings()
	return r, nil
}

// A tally adds contents up.
type tally struct {
	Content
	places map[columnKey]int // in Columns
}

// A columnKey identifies a column of one shard, and finds the same one in another.
type columnKey struct {
	path string
	nth  int
}

func newTally() *tally { return &tally{places: map[columnKey]int{}} }

func columnKeys(leaves []rowgroup.Leaf) []columnKey {
	seen := make(map[string]int, len(leaves))
	keys := make([]columnKey, len(leaves))
	for i, l := range leaves {
		keys[i] = columnKey{l.Path, seen[l.Path]}
		seen[l.Path]++
	}
	return keys
}

// add counts a shard of that size in each tally.
func add(f *rowgroup.Footer, size int64, tallies ...*tally) {
	stored := make([]int64, f.Groups())
	keys := columnKeys(f.Leaves)
	columns := make([]*Column, len(tallies))
	for i, l := range f.Leaves {
		for k, t := range tallies {
			columns[k] = t.column(Column{Path: l.Path, nth: keys[i].nth, Type: l.Type, Tensor: l.Tensor, physical: l.Physical, repeated: l.Repeated})
		}
		for g := range stored {
			chunk := f.Chunk(l, g)
			for _, c := range columns {
				c.addChunk(&chunk)
			}
			stored[g] += chunk.Compressed
		}
	}
	for _, t := range tallies {
		t.FileBytes += size
		t.FooterBytes += f.Bytes
		for g := range stored {
			rows, bytes := f.Group(g)
			t.addGroup(rows, bytes, stored[g])
		}
	}
}

func (t *tally) addGroup(rows, uncompressed, compressed int64) {
	t.RowGroups++
	t.Rows += rows
	t.Uncompressed += uncompressed
	t.Compressed += compressed
	t.LargestRowGroup = max(t.LargestRowGroup, rows)
	t.LargestBytes = max(t.LargestBytes, uncompressed)
	t.LargestEncoded = max(t.LargestEncoded, compressed)
}

// column finds the column of a path and number; one of two types in two shards has both.
func (t *tally) column(c Column) *Column {
	key := columnKey{c.Path, c.nth}
	i, ok := t.places[key]
	if !ok {
		i = len(t.Columns)
		t.places[key] = i
		t.Columns = append(t.Columns, c)
	}
	old := &t.Columns[i]
	if !slices.Contains(strings.Split(old.Type, " or "), c.Type) {
		old.Type += " or " + c.Type
	}
	return old
}

func (c *Column) addChunk(k *rowgroup.Chunk) {
	if k.Unreadable != nil && c.unreadable == "" {
		c.unreadable = k.Unreadable.Error()
	}
	c.Values += k.Values
	c.Compressed += k.Compressed
	c.Uncompressed += k.Uncompressed
	if k.Values == 0 {
		return
	}
	c.chunks++
	c.Codecs = addName(c.Codecs, k.Codec)
	for _, e := range k.Encodings {
		c.Encodings = addName(c.Encodings, e)
	}
	if len(k.Pages) > 0 {
		c.indexed++
	}
	for _, size := range k.Pages {
		c.Pages++
		c.pageBytes += size
		c.LargestPage = max(c.LargestPage, size)
	}
}

func addName(all []string, name string) []string {
	if slices.Contains(all, name) {
		return all
	}
	return append(all, name)
}

// addSamples adds the sizes of a shard's first pages, for columns without sizes.
func (t *tally) addSamples(shard *tally) {
	for i := range shard.Columns {
		c := t.column(shard.Columns[i])
		c.PageBytes = cmp.Or(c.PageBytes, shard.Columns[i].PageBytes)
	}
}

// finish computes what follows from the sums.
func (t *tally) finish() Content {
	chunks, indexed := int64(0), int64(0)
	for i := range t.Columns {
		c := &t.Columns[i]
		chunks += c.chunks
		indexed += c.indexed
		if c.Pages > 0 {
			c.PageBytes = c.pageBytes / c.Pages
		}
		c.show()
	}
	switch {
	case indexed == 0:
		t.PageIndex = ShareNone
	case indexed < chunks:
		t.PageIndex = ShareSome
	default:
		t.PageIndex = ShareAll
	}
	return t.Content
}
