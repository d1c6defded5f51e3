package rowgroup

import (
	"cmp"
	"context"

	"github.com/shardfeed/shardfeed/internal/parquet"
	"github.com/shardfeed/shardfeed/shard"
)

func footerError(s shard.Shard, err error) error {
	return &Error{Op: "footer", URI: s.URI, RowGroup: -1, Page: -1, Err: err}
}

// readFooter reads and checks a shard's footer: one read of its end, a second when the footer is
// larger than the guess, and one of the page index when neither has it.
func readFooter(ctx context.Context, store shard.Store, s shard.Shard, tails *tailGuess) (*parquet.Footer, error) {
	o, err := store.Open(ctx, s)
	if err != nil {
		return nil, footerError(s, err)
	}
	f, err := parseTail(ctx, o, s.Size, tails)
	if err = cmp.Or(err, o.Close()); err != nil {
		return nil, footerError(s, err)
	}
	return f, nil
}

func parseTail(ctx context.Context, o shard.Object, size int64, tails *tailGuess) (*parquet.Footer, error) {
	if err := parquet.CheckSize(size); err != nil {
		return nil, err
	}
	guess, end, err := tails.begin(ctx, size)
	if err != nil {
		return nil, err
	}
	defer end()
	buf := make([]byte, guess)
	if err := o.ReadAt(ctx, buf, size-int64(len(buf))); err != nil {
		return nil, err
	}
	n, err := parquet.FooterLength(buf[len(buf)-parquet.TailBytes:], size)
	if err != nil {
		return nil, err
	}
	if int64(len(buf)) < n+parquet.TailBytes {
		buf = make([]byte, n+parquet.TailBytes)
		if err := o.ReadAt(ctx, buf, size-int64(len(buf))); err != nil {
			return nil, err
		}
	}
	f, err := parquet.ParseFooter(buf[int64(len(buf))-n-parquet.TailBytes:len(buf)-parquet.TailBytes], size-n-parquet.TailBytes)
	if err != nil {
		return nil, err
	}
	if err := f.MeasureChunks(ctx, o, size-n-parquet.TailBytes); err != nil {
		return nil, err
	}
	index := int64(0)
	if lo, hi := f.IndexSpan(); lo < hi {
		index = size - lo
	}
	tails.learn(n, index)
	return f, f.ReadPageIndex(ctx, o, buf, size-int64(len(buf)))
}
