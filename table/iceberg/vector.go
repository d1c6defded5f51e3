package iceberg

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/table"
	"github.com/shardfeed/shardfeed/table/internal/roaring"
)

// maxVectors is the number of bytes of deletion vectors that one read takes together.
const maxVectors = 8 << 20

// vectorVersion changes when deletion vectors delete other rows than they did.
const vectorVersion = "vector/1"

// vectors reads the deletion vectors whose rows are not kept. One request reads neighbors in a file.
func (d *deleter) vectors(ctx context.Context) error {
	var all []*deleteFile
	var files []unread
	for i := range d.set.deletes {
		f := &d.set.deletes[i]
		if !f.vector {
			continue
		}
		at, ok := d.index[f.of]
		if !ok {
			continue
		}
		if d.settled[at] {
			return &shard.Error{Op: "table", URI: d.address, Err: fmt.Errorf("%w: the file %s has two deletion vectors", shard.ErrCorrupt, f.of)}
		}
		if data := &d.set.data[at]; data.sequence <= f.sequence && data.partition == f.partition {
			d.settled[at] = true
			u := unread{int(at), nameOf(fmt.Appendf(nil, "%s\x00%s\x00%v\x00%d", vectorVersion, d.locate(f.path), f.blob, f.rows))}
			if !d.files[at].DeleteKept(d.options.Keeper, table.ByVector, u.name) {
				all, files = append(all, f), append(files, u)
			}
		}
	}
	slices.SortFunc(all, func(a, b *deleteFile) int {
		return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.blob.Off, b.blob.Off))
	})
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(d.parallel())
	for len(all) > 0 {
		n := together(all)
		some := all[:n]
		all = all[n:]
		group.Go(func() error {
			if err := d.readVectors(inner, some); err != nil {
				return d.wrap(d.locate(some[0].path), err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	d.keep(files)
	return nil
}

// together is the number of vectors, from the first on, that are close to each other in one file.
func together(all []*deleteFile) int {
	n, end := 1, all[0].blob.End()
	for _, f := range all[1:] {
		if f.path != all[0].path || f.blob.Off-end > maxVectors/8 || f.blob.End()-all[0].blob.Off > maxVectors {
			break
		}
		end = max(end, f.blob.End())
		n++
	}
	return n
}

func (d *deleter) readVectors(ctx context.Context, all []*deleteFile) error {
	span := shard.Span{Off: all[0].blob.Off}
	for _, f := range all {
		if err := f.blob.Within(f.size); err != nil {
			return fmt.Errorf("%w: a deletion vector: %w", shard.ErrCorrupt, err)
		}
		span.N = max(span.N, f.blob.End()-span.Off)
	}
	content, err := d.read(ctx, all[0].path, all[0].size, span)
	if err != nil {
		return err
	}
	for _, f := range all {
		blob := content[f.blob.Off-span.Off:][:f.blob.N]
		if err := apply(blob, f, &d.files[d.index[f.of]]); err != nil {
			return fmt.Errorf("%w: the deletion vector of %s: %w", shard.ErrCorrupt, f.of, err)
		}
	}
	return nil
}

// apply deletes the rows of a vector, whose manifest knows their number.
func apply(blob []byte, f *deleteFile, file *table.File) error {
	bitmap, err := roaring.Frame(blob)
	if err != nil {
		return err
	}
	err = roaring.Each(bitmap, func(lo, hi int64) error {
		if hi > file.Rows {
			return fmt.Errorf("it deletes row %d of %d", hi-1, file.Rows)
		}
		file.Delete(table.ByVector, lo, hi)
		return nil
	})
	if err == nil && file.Deleted.Len() != f.rows {
		err = fmt.Errorf("it has %d rows, and its manifest says %d", file.Deleted.Len(), f.rows)
	}
	return err
}
