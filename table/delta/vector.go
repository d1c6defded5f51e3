package delta

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"golang.org/x/sync/errgroup"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/table"
	"github.com/shardfeed/shardfeed/table/internal/roaring"
)

// A vector describes a file's deletion vector.
type vector struct {
	Storage     string `json:"storageType"`
	Path        string `json:"pathOrInlineDv"`
	Offset      *int32 `json:"offset"`
	Size        int32  `json:"sizeInBytes"`
	Cardinality int64  `json:"cardinality"`
}

// How vectors are stored.
const (
	inline   = "i" // in Path, in base 85
	byUUID   = "u" // in a file of the table, whose name has the UUID at the end of Path
	byPath   = "p" // in the file at Path
	uuidSize = 20  // characters of a UUID in base 85
)

// id identifies a vector of a file; "" is a file without one.
func (v *vector) id() string {
	if v == nil {
		return ""
	}
	if v.Offset == nil {
		return v.Storage + v.Path
	}
	return v.Storage + v.Path + "@" + strconv.Itoa(int(*v.Offset))
}

func (v *vector) offset() int64 {
	if v.Offset == nil {
		return 0
	}
	return int64(*v.Offset)
}

// span is where the vector and its frame are in their file.
func (v *vector) span() shard.Span {
	return shard.Span{Off: v.offset(), N: int64(v.Size) + roaring.FrameBytes}
}

// Bounds of vectors.
const (
	maxVector = 512 << 20 // bytes
	maxRows   = 1 << 33   // of a file whose number of rows is unknown
)

// check refuses a vector that cannot be.
func (v *vector) check() error {
	switch {
	case v.Size <= 0 || v.Size > maxVector || v.offset() < 0:
		return fmt.Errorf("%w: its deletion vector has %d bytes at %d", shard.ErrCorrupt, v.Size, v.offset())
	case v.Cardinality < 0:
		return fmt.Errorf("%w: its deletion vector has %d rows", shard.ErrCorrupt, v.Cardinality)
	case v.Storage != inline && v.Storage != byUUID && v.Storage != byPath:
		return fmt.Errorf("its deletion vector is stored as %q, which is not known", v.Storage)
	}
	return nil
}

// uri is the address of the vector's file.
func (v *vector) uri(dir string) (string, error) {
	if v.Storage == byPath {
		return locate(dir, v.Path), nil
	}
	if len(v.Path) < uuidSize {
		return "", fmt.Errorf("%w: the name of its deletion vector is too short", shard.ErrCorrupt)
	}
	prefix := v.Path[:len(v.Path)-uuidSize]
	id, err := decodeZ85(v.Path[len(prefix):])
	if err != nil {
		return "", fmt.Errorf("%w: the name of its deletion vector is %q", shard.ErrCorrupt, v.Path)
	}
	if prefix != "" {
		prefix += "/"
	}
	return within(dir, fmt.Sprintf("%s%s%x-%x-%x-%x-%x.bin", prefix, vectorName, id[:4], id[4:6], id[6:8], id[8:10], id[10:])), nil
}

const vectorName = "deletion_vector_"

// A wanted is a vector to read.
type wanted struct {
	*vector
	file *table.File
	name [16]byte // of the file's deleted rows, see [table.Found]; zero for an inline one
}

// vectorVersion changes when deletion vectors delete other rows than they did.
const vectorVersion = "delta vector/1"

// named returns w with the name of its rows, which covers its place; files of vectors never change.
func (w wanted) named(uri string) wanted {
	h := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%v\x00%d", vectorVersion, uri, w.span(), w.Cardinality))
	copy(w.name[:], h[:])
	return w
}

// vectors reads the deletion vectors of files whose rows are not kept, each file of them once.
func (l *log) vectors(ctx context.Context, files []file, into []table.File) error {
	all := map[string][]wanted{} // by the address of the vectors' file
	for i := range files {
		v := files[i].vector
		if v == nil {
			continue
		}
		w := wanted{vector: v, file: &into[i]}
		uri, err := "", v.check()
		switch {
		case err != nil:
		case v.Storage == inline:
			err = w.inline()
		default:
			uri, err = v.uri(l.dir)
		}
		if err != nil {
			return w.wrap(err)
		}
		if uri == "" {
			continue
		}
		if w = w.named(uri); !w.file.DeleteKept(l.keeper, table.ByVector, w.name) {
			all[uri] = append(all[uri], w)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return l.readAll(ctx, all)
}

// readAll reads vectors, by the address of their file, and keeps their rows.
func (l *log) readAll(ctx context.Context, all map[string][]wanted) error {
	shards, err := l.vectorFiles(ctx, all)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(l.parallel)
	for uri, ws := range all {
		group.Go(func() error { return l.readVectors(ctx, shards[uri], uri, ws) })
	}
	if err := group.Wait(); err != nil || l.keeper == nil {
		return err
	}
	found := []table.Found{}
	for _, ws := range all {
		for _, w := range ws {
			found = append(found, table.Found{Shard: w.file.Shard, Name: w.name, Rows: w.file.Deleted})
		}
	}
	l.keeper.Keep(found)
	return nil
}

func (w wanted) wrap(err error) error {
	return &shard.Error{Op: "table", URI: w.file.Shard.URI, Err: err}
}

// inline takes a vector out of the log.
func (w wanted) inline() error {
	b, err := decodeZ85(w.Path)
	if err != nil || len(b) < int(w.Size) {
		return fmt.Errorf("%w: its deletion vector cannot be decoded", shard.ErrCorrupt)
	}
	return w.take(b[:w.Size])
}

// take adds the rows of a bitmap to the deleted rows of the file.
func (w wanted) take(bitmap []byte) error {
	most := w.file.Rows
	if most < 0 {
		most = maxRows
	}
	err := roaring.Each(bitmap, func(lo, hi int64) error {
		if hi > most {
			return fmt.Errorf("%w: its deletion vector has row %d, and the file %d rows", shard.ErrCorrupt, hi-1, most)
		}
		w.file.Delete(table.ByVector, lo, hi)
		return nil
	})
	if errors.Is(err, roaring.ErrDamaged) {
		return fmt.Errorf("%w: %w", shard.ErrCorrupt, err)
	}
	if n := w.file.Deleted.Len(); err == nil && n != w.Cardinality {
		err = fmt.Errorf("%w: its deletion vector has %d rows, and the log says %d", shard.ErrCorrupt, n, w.Cardinality)
	}
	return err
}

// listVectors is the number of files of vectors from which on one list finds them.
const listVectors = 8

// vectorFiles describes the files of vectors: by one list of the table's directory if there are
// many, and one by one what it does not find.
func (l *log) vectorFiles(ctx context.Context, all map[string][]wanted) (map[string]shard.Shard, error) {
	found := make(map[string]shard.Shard, len(all))
	if len(all) >= listVectors {
		listed, err := l.store.List(ctx, table.Literal(l.dir)+"/"+vectorName+"*")
		if err != nil && !errors.Is(err, shard.ErrNotExist) {
			return nil, err
		}
		for _, s := range listed {
			found[s.URI] = s
		}
	}
	missing := []string{}
	for uri := range all {
		if _, ok := found[uri]; !ok {
			missing = append(missing, uri)
		}
	}
	shards := make([]shard.Shard, len(missing))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(l.parallel)
	for i, uri := range missing {
		group.Go(func() error {
			listed, err := l.store.List(ctx, table.Literal(uri))
			if err == nil && len(listed) != 1 {
				err = &shard.Error{Op: "table", URI: uri, Err: fmt.Errorf("%w: it is not a file", shard.ErrCorrupt)}
			}
			if err == nil {
				shards[i] = listed[0]
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for i, uri := range missing {
		found[uri] = shards[i]
	}
	return found, nil
}

// batchBytes is how much of a file of vectors is read at once.
const batchBytes = 16 << 20

// readVectors reads the vectors of one file.
func (l *log) readVectors(ctx context.Context, s shard.Shard, uri string, all []wanted) (err error) {
	slices.SortFunc(all, func(a, b wanted) int { return cmp.Compare(a.offset(), b.offset()) })
	object, err := l.store.Open(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, object.Close()) }()
	for i := 0; i < len(all); {
		from, total := i, int64(0)
		for ; i < len(all) && (i == from || total < batchBytes); i++ {
			span := all[i].span()
			if span.End() > s.Size || i > from && span.Off < all[i-1].span().End() {
				return &shard.Error{Op: "table", URI: uri, Err: fmt.Errorf("%w: the log has deletion vectors that overlap or are outside the file", shard.ErrCorrupt)}
			}
			total += span.N
		}
		if err := readBatch(ctx, object, all[from:i], total); err != nil {
			return err
		}
	}
	return nil
}

func readBatch(ctx context.Context, object shard.Object, all []wanted, total int64) error {
	buffer := make([]byte, total)
	ranges := make([]shard.Range, len(all))
	for i, w := range all {
		span := w.span()
		ranges[i] = shard.Range{Off: span.Off, P: buffer[:span.N:span.N]}
		buffer = buffer[span.N:]
	}
	if err := shard.ReadRanges(ctx, object, ranges); err != nil {
		return err
	}
	for i, w := range all {
		bitmap, err := roaring.Frame(ranges[i].P)
		if err != nil {
			err = fmt.Errorf("%w: %w", shard.ErrCorrupt, err)
		} else {
			err = w.take(bitmap)
		}
		if err != nil {
			return w.wrap(err)
		}
	}
	return nil
}
