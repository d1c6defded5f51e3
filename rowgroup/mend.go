package rowgroup

import (
	"context"
	"errors"
	"slices"
)

// mend reads the footer again and, if it has changed, repeats decode; otherwise it returns err, the
// error of the failed decode.
func (r *Raw) mend(ctx context.Context, err error, decode func() error) error {
	m, s := r.reader, r.Rows.Shard
	f := &m.files[s]
	mended, failed := m.mender.Mend(ctx, m.firstShard+s, m.shards[s], r.object, f.record, m.bound[f.schema].raw.ID)
	switch {
	case errors.Is(failed, ErrFooterMended):
		return &Error{Op: "fetch", URI: r.uri, RowGroup: r.Rows.RowGroup, Page: -1, Err: failed}
	case failed != nil || !mended:
		return err
	}
	fresh, failed := m.plan(r.fetched, r.ruleAlone)
	if failed != nil {
		return failed
	}
	r.dropBytes()
	r.forgetDicts(slices.Concat(r.chunks, fresh.chunks))
	r.chunks, r.copyAll = fresh.chunks, true
	if failed := m.read(ctx, r, false); failed != nil {
		return r.fetchError(failed)
	}
	return decode()
}
