package rowgroup

import (
	"context"
	"errors"

	"github.com/shardfeed/shardfeed/internal/crc"
	"github.com/shardfeed/shardfeed/rowgroup/internal/footer"
	"github.com/shardfeed/shardfeed/shard"
)

// Refetching runs decode, which decodes the unit. While decode fails because the bytes are damaged,
// it fetches them again and repeats: a cache's file may be damaged, or the bytes were damaged in
// transit. If that does not help, it reads the footer again. It returns the error of the last
// decode for a damaged shard. The caller corrects what it counts for the unit in decode, since Held
// changes.
func (r *Raw) Refetching(ctx context.Context, decode func() error) error {
	err := decode()
	for again := (shard.Rereads{}); again.More() && r.mayMend(err); {
		changed, failed := r.refetch(ctx)
		if failed != nil {
			return r.fetchError(failed)
		}
		if again.Note(changed); changed {
			err = decode()
		}
	}
	if r.mayMend(err) {
		err = r.mend(ctx, err, decode)
	}
	return err
}

// mayMend reports whether an error may come from damaged bytes.
func (r *Raw) mayMend(err error) bool {
	var e *Error
	return r.object != nil && errors.As(err, &e) && e.Op == "decode" && !errors.Is(err, ErrMisfit) && !errors.Is(err, ErrTooLarge)
}

// refetch replaces the bytes of the unit by copies, and reports whether they may have changed. A
// store verifies what it copies before the bytes are used, unlike what it lends. Copies that cannot
// be decoded were damaged before the store kept them, so it drops them and asks the source.
func (r *Raw) refetch(ctx context.Context) (changed bool, err error) {
	if r.tier != nil {
		r.tier.shard.Forget(r.tier.group)
	}
	if r.mapped || r.tier != nil {
		return true, r.copyAgain(ctx)
	}
	before := r.sum()
	shard.Discard(r.object, r.spans())
	if err := r.copyAgain(ctx); err != nil {
		return false, err
	}
	return r.sum() != before, nil
}

// copyAgain reads all bytes of the unit once more, without the tier and without leases.
func (r *Raw) copyAgain(ctx context.Context) error {
	if r.tier != nil {
		r.chunks = r.tier.encoded
	}
	r.dropBytes()
	r.copyAll = true
	r.forgetDicts(r.chunks)
	return r.reader.read(ctx, r, false)
}

// forgetDicts drops the dictionaries of chunks from memory, which may be damaged.
func (r *Raw) forgetDicts(chunks []rawChunk) {
	var offs []int64
	for i := range chunks {
		if chunks[i].dictLen > 0 {
			offs = append(offs, chunks[i].dictOff)
		}
	}
	m := r.reader
	footer.ForgetDicts(m.hot, footer.NewKey(m.objects.store, m.shards[r.Rows.Shard]), offs)
}

// sum is a checksum of the unit's copied bytes.
func (r *Raw) sum() (sum uint32) {
	for _, c := range r.chunks {
		sum = crc.Append(crc.Append(sum, c.dict), c.pages)
	}
	return sum
}

// spans are the bytes of the shard that the unit has.
func (r *Raw) spans() []shard.Span {
	var all []shard.Span
	for _, c := range r.chunks {
		all = append(all, shard.Span{Off: c.pagesOff, N: int64(len(c.pages))}, shard.Span{Off: c.dictOff, N: int64(len(c.dict))})
	}
	return footer.MergeSpans(all)
}
