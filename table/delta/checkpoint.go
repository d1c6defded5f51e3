package delta

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/table"
)

// readCheckpoint takes the files of a checkpoint, and its sidecars.
func (l *log) readCheckpoint(ctx context.Context, r *replay, files []shard.Shard, names *partitions) error {
	sidecars, err := l.readPieces(ctx, r, files, names)
	if err != nil || len(sidecars) == 0 {
		return err
	}
	files = files[:0:0]
	for _, s := range sidecars {
		files = append(files, shard.Shard{URI: sidecarURI(l.dir, s.Path), Size: s.Size})
	}
	nested, err := l.readPieces(ctx, r, files, names)
	if err == nil && len(nested) > 0 {
		err = fmt.Errorf("%w: a sidecar of the checkpoint has sidecars", shard.ErrCorrupt)
	}
	return err
}

// readPieces takes files of a checkpoint, side by side, and returns its sidecars.
func (l *log) readPieces(ctx context.Context, r *replay, files []shard.Shard, names *partitions) (sidecars []sidecar, err error) {
	var mu sync.Mutex
	take := func(c *commit) error {
		mu.Lock()
		defer mu.Unlock()
		sidecars = append(sidecars, c.sidecars...)
		return r.take(c, false)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(l.parallel)
	for _, s := range files {
		group.Go(func() error {
			if !strings.HasSuffix(s.URI, ".json") {
				return l.scanPiece(ctx, s, names, take)
			}
			c, err := l.commit(ctx, s, names)
			if err != nil {
				return err
			}
			return take(&c)
		})
	}
	return sidecars, group.Wait()
}

// Columns of a checkpoint, and the parts of them that are read, by place.
const (
	addColumn = iota
	protocolColumn
	metadataColumn
	sidecarColumn
)

const (
	addPath = iota
	addPartition
	addSize
	addStats
	addParsed
	addVector
	addFirstRow
)

var checkpointFields = []table.Field{
	named("add", named("path"), named("partitionValues"), named("size"), named("stats"), named("stats_parsed", named("numRecords")),
		named("deletionVector", named("storageType"), named("pathOrInlineDv"), named("offset"), named("sizeInBytes"), named("cardinality")),
		named("baseRowId")),
	named("protocol", named("minReaderVersion"), named("readerFeatures")),
	named("metaData", named("id"), named("schemaString"), named("partitionColumns"), named("configuration"),
		named("format", named("provider"))),
	named("sidecar", named("path"), named("sizeInBytes")),
}

func named(name string, parts ...table.Field) table.Field {
	return table.Field{Names: []string{name}, Parts: parts}
}

// scanPiece reads a parquet file of a checkpoint.
func (l *log) scanPiece(ctx context.Context, s shard.Shard, names *partitions, take func(*commit) error) error {
	p := piece{dir: l.dir, names: names}
	return l.scan(ctx, s, checkpointFields, func(_ int64, columns []*column.Array) error {
		c, err := p.read(columns)
		if err == nil {
			err = take(c)
		}
		if err != nil {
			return &shard.Error{Op: "table", URI: s.URI, Err: err}
		}
		return nil
	})
}

// A piece is a parquet file of a checkpoint.
type piece struct {
	dir   string
	names *partitions
	key   []byte // a buffer
}

// read returns the actions in some rows.
func (p *piece) read(columns []*column.Array) (*commit, error) {
	c := &commit{}
	if a := columns[addColumn]; a != nil {
		for i := range a.Len {
			if a.IsNull(i) {
				continue
			}
			f, err := p.file(a, i)
			if err != nil {
				return nil, err
			}
			c.adds = append(c.adds, f)
		}
	}
	each(columns[protocolColumn], func(a *column.Array, i int) {
		reader, _ := integer(a.Children[0], i)
		c.protocol = &protocol{Reader: int32(reader), Features: textList(a.Children[1], i)}
	})
	each(columns[metadataColumn], func(a *column.Array, i int) {
		m := &metadata{
			ID: text(a.Children[0], i), Schema: text(a.Children[1], i),
			Partitions: textList(a.Children[2], i), Config: textMap(a.Children[3], i),
		}
		if format := a.Children[4]; format != nil && !format.IsNull(i) {
			m.Format.Provider = text(format.Children[0], i)
		}
		c.metadata = m
	})
	each(columns[sidecarColumn], func(a *column.Array, i int) {
		size, _ := integer(a.Children[1], i)
		c.sidecars = append(c.sidecars, sidecar{text(a.Children[0], i), size})
	})
	return c, nil
}

// each calls f with the places of an array of structs that are not null.
func each(a *column.Array, f func(a *column.Array, i int)) {
	if a == nil {
		return
	}
	for i := range a.Len {
		if !a.IsNull(i) {
			f(a, i)
		}
	}
}

// file reads the file that is added in row i.
func (p *piece) file(a *column.Array, i int) (f file, err error) {
	path := text(a.Children[addPath], i)
	size, ok := integer(a.Children[addSize], i)
	if path == "" || !ok || size < 0 {
		return f, fmt.Errorf("%w: a file has no path or no size", shard.ErrCorrupt)
	}
	f = file{uri: locate(p.dir, path), size: size, rows: -1, first: -1}
	if f.partition, err = p.names.ofArray(a.Children[addPartition], i, &p.key); err != nil {
		return f, err
	}
	if parsed := a.Children[addParsed]; parsed != nil && !parsed.IsNull(i) {
		if n, ok := integer(parsed.Children[0], i); ok {
			f.rows = n
		}
	}
	if b := bytesAt(a.Children[addStats], i); f.rows < 0 && b != nil {
		f.rows = int64(parseStats(b))
	}
	if n, ok := integer(a.Children[addFirstRow], i); ok {
		f.first = n
	}
	if v := a.Children[addVector]; v != nil && !v.IsNull(i) {
		f.vector = readVector(v, i)
	}
	return f, nil
}

func readVector(a *column.Array, i int) *vector {
	v := &vector{Storage: text(a.Children[0], i), Path: text(a.Children[1], i)}
	if offset, ok := integer(a.Children[2], i); ok {
		o := int32(offset)
		v.Offset = &o
	}
	size, _ := integer(a.Children[3], i)
	v.Size = int32(size)
	v.Cardinality, _ = integer(a.Children[4], i)
	return v
}
