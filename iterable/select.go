package iterable

import (
	"context"
	"io"
	"math/bits"
	"sync"

	"github.com/shardfeed/shardfeed/internal/cause"
	"github.com/shardfeed/shardfeed/rule"

	"github.com/shardfeed/shardfeed/iterable/internal/samples"
)

// Select writes a rows file of the rows that the rule keeps, and returns their number; a row that
// comes more than once counts once. Without a rule all rows are kept. It reads only the columns of
// the rule, in parallel. The caller writes to another name and renames, so that no reader sees half
// a file.
func (d *Dataset) Select(ctx context.Context, w io.Writer) (kept int64, err error) {
	of, err := d.only("have no list of rows in common")
	if err != nil {
		return 0, err
	}
	if err := d.enter(); err != nil {
		return 0, err
	}
	defer d.leave()
	if of.rules == nil {
		return d.NumRows(), rule.WriteRowList(w, of.data, func(g int, keep []uint64) error {
			samples.Fill(keep, of.data.Groups[g].Rows)
			return nil
		})
	}
	ctx, stop := context.WithCancelCause(ctx)
	s := &selecting{source: of, order: make(chan *selected, selectAhead), groups: map[int]*selected{}}
	var reading sync.WaitGroup
	reading.Go(func() {
		if err := of.reading.Read(ctx, samples.Reading{Next: s.begin, Found: s.add, Done: s.end}); err != nil {
			s.fail(err)
			stop(err)
		}
	})
	defer reading.Wait()
	defer stop(nil)
	err = rule.WriteRowList(w, of.data, func(_ int, keep []uint64) error {
		found, err := s.take(ctx)
		copy(keep, found)
		for _, word := range found {
			kept += int64(bits.OnesCount64(word))
		}
		return err
	})
	return kept, err
}

// selectAhead is how many row groups are read before they are written.
const selectAhead = 64

// selecting hands the rows of row groups, which get ready in any order, to the writer in theirs.
type selecting struct {
	source *source
	order  chan *selected

	mu     sync.Mutex
	groups map[int]*selected // that are being read
	begun  int
	err    error // of the reading, set before it ends ctx
}

// A selected is the rows of a row group that are kept.
type selected struct {
	bits  []uint64
	ready chan struct{} // closed when bits are complete
}

// begin is the next row group, unless ctx ends before there is room for it.
func (s *selecting) begin(ctx context.Context) (group int, ok bool) {
	if s.begun == len(s.source.data.Groups) {
		return 0, false
	}
	group = s.begun
	x := &selected{bits: make([]uint64, (s.source.data.Groups[group].Rows+63)/64), ready: make(chan struct{})}
	select {
	case s.order <- x:
	case <-ctx.Done():
		return 0, false
	}
	s.begun++
	s.mu.Lock()
	defer s.mu.Unlock()
	s.groups[group] = x
	return group, true
}

// add sets the bits of the rows from lo on that are kept.
func (s *selecting) add(group int, lo, _ int64, sel samples.Selection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.groups[group].bits
	sel.Each(0, sel.Rows, func(row int) {
		if sel.Times == nil || sel.Times[row] > 0 {
			at := lo + int64(row)
			b[at/64] |= 1 << (at % 64)
		}
	})
}

func (s *selecting) end(group int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.groups[group].ready)
	delete(s.groups, group)
}

// take waits for the next row group.
func (s *selecting) take(ctx context.Context) ([]uint64, error) {
	select {
	case x := <-s.order:
		select {
		case <-x.ready:
			return x.bits, nil
		case <-ctx.Done():
		}
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return nil, cause.Of(ctx, s.err)
}

// fail keeps the error of the reading.
func (s *selecting) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// KeptGroups says for each row group of the Manifests whether the rule keeps anything of it.
func (d *Dataset) KeptGroups() (all [][]bool, err error) {
	for _, s := range d.sources {
		units, err := s.ownUnits()
		if err != nil {
			return nil, err
		}
		kept := make([]bool, len(s.manifest.Groups()))
		for _, u := range units.All() {
			kept[u.Group] = kept[u.Group] || u.Samples > 0
		}
		all = append(all, kept)
	}
	return all, nil
}
