package imagery

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/rowio"
	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/term"
	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/images/codec"
	"github.com/shardfeed/shardfeed/internal/inspect"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
)

// Limits on the images that are sampled.
const (
	sampledShards = 4         // spread over the list
	sampledRows   = 16        // of a place; each shard has two, in its first and its middle row group
	MaxPlace      = 32 << 20  // bytes of a place
	MaxBytes      = 128 << 20 // bytes of all
)

// A Sample summarizes some images of a column.
type Sample struct {
	Column      string           `json:"column"`
	Sampled     int64            `json:"sampled"`     // values that are not null
	Formats     map[string]int64 `json:"formats"`     // by the first bytes
	Unknown     int64            `json:"unknown"`     // of no format that is decoded
	Damaged     int64            `json:"damaged"`     // in their headers, or truncated
	Progressive int64            `json:"progressive"` // JPEGs, and interlaced PNGs
	Turned      int64            `json:"turned"`      // by their EXIF orientation
	Width       spread           `json:"width"`       // as stored
	Height      spread           `json:"height"`
	Bytes       spread           `json:"bytes"`

	widths, heights, sizes []int64
}

// A spread is the least, the median and the largest of some numbers, or zeros.
type spread struct {
	Least  int64 `json:"least"`
	Median int64 `json:"median"`
	Most   int64 `json:"most"`
}

func spreadOf(all []int64) spread {
	if len(all) == 0 {
		return spread{}
	}
	slices.Sort(all)
	return spread{all[0], all[len(all)/2], all[len(all)-1]}
}

// A Sampling reads places of shards, until it has read enough.
type Sampling struct {
	maxPlace, maxAll int64 // bytes

	by      map[string]*Sample // by column
	without map[string]bool    // columns whose first values are not images
	bytes   int64              // read
	skipped int64              // bytes of the largest place that was too large to read
}

// NewSampling returns one that has read nothing.
func NewSampling(maxPlace, maxAll int64) *Sampling {
	return &Sampling{maxPlace: maxPlace, maxAll: maxAll, by: map[string]*Sample{}, without: map[string]bool{}}
}

// Take adds samples of some shards, spread over the list; columns[i] belongs to shards[i]. It
// calls unread for a shard that cannot be read, whose footers give the rest. The samples are by
// column.
func (s *Sampling) Take(ctx context.Context, stores shard.Stores, shards []shard.Shard, columns [][]inspect.Column, o rowgroup.Options, unread func(shard.Shard, error)) ([]*Sample, error) {
	places := min(sampledShards, len(shards))
	for k := range places {
		at := k * len(shards) / places
		names := s.candidates(columns[at])
		if len(names) == 0 {
			continue
		}
		if err := s.shard(ctx, stores, shards[at], names, o); err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			unread(shards[at], err)
		}
	}
	all := []*Sample{} // an empty list in JSON
	for _, name := range slices.Sorted(maps.Keys(s.by)) {
		c := s.by[name]
		c.Width, c.Height, c.Bytes = spreadOf(c.widths), spreadOf(c.heights), spreadOf(c.sizes)
		all = append(all, c)
	}
	return all, nil
}

// Skipped returns the bytes of the largest place that was too large to read.
func (s *Sampling) Skipped() int64 { return s.skipped }

// candidates are the columns that may hold images.
func (s *Sampling) candidates(all []inspect.Column) (names []string) {
	for _, c := range all {
		known := slices.ContainsFunc(slices.Collect(maps.Keys(s.without)), func(name string) bool {
			return s.without[name] && (c.Path == name || strings.HasPrefix(c.Path, name+"."))
		})
		if c.Type == "binary" && c.Values > 0 && !known && !slices.Contains(names, c.Path) {
			names = append(names, c.Path)
		}
	}
	return names
}

func (s *Sampling) shard(ctx context.Context, stores shard.Stores, one shard.Shard, columns []string, o rowgroup.Options) (err error) {
	m, err := rowgroup.Open(ctx, stores, []shard.Shard{one}, rowgroup.Options{Columns: columns, IndexDir: o.IndexDir})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	shape, err := loader.Options{}.Shape(m.Schema())
	if err != nil {
		return err
	}
	groups := m.Groups()
	for k, g := range slices.Compact([]int{0, len(groups) / 2}) {
		if g >= len(groups) || groups[g].Rows == 0 {
			continue
		}
		n := min(sampledRows, groups[g].Rows)
		bytes := placeBytes(m, g, n)
		if bytes > s.maxPlace || s.bytes+bytes > s.maxAll {
			s.skipped = max(s.skipped, bytes)
			continue
		}
		s.bytes += bytes
		rows := make([]int64, n)
		for i := range rows {
			rows[i] = groups[g].First + int64(i)
		}
		if err := rowio.TakeOf(ctx, m, shape, rows, s.add); err != nil {
			return err
		}
		if k == 0 && len(s.by) == 0 {
			return nil // no column has images
		}
	}
	return nil
}

// placeBytes estimates the bytes to read for the first n rows of a group: their pages, or the whole
// group if the offsets of pages are unknown.
func placeBytes(m *rowgroup.Reader, g int, n int64) int64 {
	group := m.Groups()[g]
	for _, edge := range m.PageEdges(g) {
		if edge >= n {
			return mem.MulDiv(group.Compressed, edge, group.Rows)
		}
	}
	return group.Compressed
}

func (s *Sampling) add(columns []*column.Array, _ int) error {
	for _, a := range columns {
		s.addArray(a, a.Field.Name)
	}
	return nil
}

// addArray notes the values of a column and its children. Members of structs have dotted names, and
// items of lists the list's.
func (s *Sampling) addArray(a *column.Array, name string) {
	for _, child := range a.Children {
		below := name
		if a.Field.Kind == column.Struct {
			below += "." + child.Field.Name
		}
		s.addArray(child, below)
	}
	if a.Field.Kind != column.Binary || a.Field.Type != column.TypeBinary || s.without[name] {
		return
	}
	found := Columns{}
	found.Note(a)
	c := s.by[name]
	if c == nil && !found[a.Field] {
		s.without[name] = a.Nulls < a.Len // nulls are inconclusive
		return
	}
	if c == nil {
		c = &Sample{Column: name, Formats: map[string]int64{}}
		s.by[name] = c
	}
	for i := range a.Len {
		if !a.IsNull(i) {
			c.add(rowio.ValueOf(a, i))
		}
	}
}

func (c *Sample) add(file []byte) {
	c.Sampled++
	c.sizes = append(c.sizes, int64(len(file)))
	h, err := codec.ReadHeader(file)
	if h.Format == codec.Unknown {
		c.Unknown++
		return
	}
	c.Formats[h.Format.String()]++
	if err != nil {
		c.Damaged++
		return
	}
	c.widths, c.heights = append(c.widths, int64(h.Width)), append(c.heights, int64(h.Height))
	if h.Progressive {
		c.Progressive++
	}
	if h.Orientation > 1 {
		c.Turned++
	}
}

// Report is a line for each column.
func Report(r *term.Report, all []*Sample) {
	if len(all) == 0 {
		return
	}
	r.Section("images, of some rows")
	for _, c := range all {
		r.Fact(c.Column, "%s", c)
	}
}

func (c *Sample) String() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(c.Formats)) {
		parts = append(parts, fmt.Sprintf("%d %s", c.Formats[name], name))
	}
	for _, n := range []struct {
		count int64
		what  string
	}{{c.Unknown, "of no known format"}, {c.Damaged, "damaged"}, {c.Progressive, "progressive"}, {c.Turned, "turned by EXIF"}} {
		if n.count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n.count, n.what))
		}
	}
	size := fmt.Sprintf("%d x %d", c.Width.Median, c.Height.Median)
	if c.Width.Least < c.Width.Most || c.Height.Least < c.Height.Most {
		size = fmt.Sprintf("%d x %d to %d x %d, median %s", c.Width.Least, c.Height.Least, c.Width.Most, c.Height.Most, size)
	}
	return fmt.Sprintf("%d sampled: %s; %s; %v to %v, median %v", c.Sampled, strings.Join(parts, ", "), size,
		mem.Bytes(c.Bytes.Least), mem.Bytes(c.Bytes.Most), mem.Bytes(c.Bytes.Median))
}
