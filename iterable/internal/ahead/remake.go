package ahead

import (
	"context"

	"github.com/shardfeed/shardfeed/iterable/internal/panics"
	"github.com/shardfeed/shardfeed/rowgroup"
)

// remakeLater lets a load's block that uses an image be made once more if the image is lost.
func (r *Reader) remakeLater(l *Load) {
	again := &Load{Manifest: l.Manifest, Rows: l.Rows, Transforms: l.Transforms}
	l.blocks[0].Remake(func(ctx context.Context) (*rowgroup.Block, error) { return r.remake(ctx, again) })
}

// remake makes the block of a load from the shard's bytes. The account counts it in place of the
// image, whose bytes the kernel freed.
func (r *Reader) remake(ctx context.Context, l *Load) (*rowgroup.Block, error) {
	raw, err := l.Manifest.FetchEncoded(ctx, l.Rows)
	if err != nil {
		return nil, err
	}
	defer raw.Release()
	d := l.Manifest.NewDecoder()
	defer d.Close()
	var blocks []*rowgroup.Block
	err = raw.Refetching(ctx, func() (err error) {
		defer panics.Caught(l.Manifest, l.Rows, &err)
		blocks, err = d.Decode(raw, rowgroup.Layout{})
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := r.transform(d, blocks, nil, l); err != nil {
		blocks[0].Release()
		return nil, err
	}
	return blocks[0], nil
}
