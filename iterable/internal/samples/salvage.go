package samples

import (
	"context"

	"github.com/shardfeed/shardfeed/iterable/internal/panics"
	"github.com/shardfeed/shardfeed/rowgroup"
)

// give records rows as lost if err is a loss that the reading accepts; else it returns err.
func (r *ruleReader) give(group int, lo, hi int64, err error) error {
	if err == nil || r.lost == nil || !rowgroup.IsLoss(err) || panics.Is(err) {
		return err
	}
	r.lost(group, lo, hi, err)
	return nil
}

// salvage reads a damaged run piece by piece, and records the damaged pieces as lost. It returns
// err, the run's, if the reading accepts no loss.
func (r *ruleReader) salvage(ctx context.Context, d *rowgroup.Decoder, s *Selector, run *Run, err error) error {
	if r.lost == nil || !rowgroup.IsLoss(err) {
		return err
	}
	group := run.group.number
	pieces := r.pieces(group, run.lo, run.hi)
	if len(pieces) < 2 {
		return r.give(group, run.lo, run.hi, err)
	}
	run.raw.Release() // the pieces take its room
	run.raw = nil
	for i := range pieces {
		p := &pieces[i]
		p.group, p.step, p.passed = run.group, run.step, run.passed
		if err = r.fetch(ctx, p); err == nil {
			err = r.decodeRun(ctx, d, s, p)
			p.raw.Release()
		}
		if err = r.give(group, p.lo, p.hi, err); err != nil {
			return err
		}
	}
	return nil
}
