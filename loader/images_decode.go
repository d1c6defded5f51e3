package loader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"image"
	"slices"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/rowgroup"
)

// An imageJob is the images of a batch in the making. Lenses take its rows in order.
type imageJob struct {
	*imaging
	ctx     context.Context // of the making
	done    chan struct{}   // closed when all rows are made
	batch   *Batch
	names   *rowNames
	skips   bool            // lost files do not end the job
	files   [][][]byte      // by column, of its rows or of the lists in them, as slices of the blocks
	lists   []imageLists    // by column; only of columns of lists
	tensors [][]byte        // by column, in the batch's memory
	sizes   [][]image.Point // by column and row: of the pictures upright; only of columns without lists
	devices []deviceRows    // by column; only of columns with a device

	// Guarded by the imaging's mutex.
	next   int // the first row that no lens has
	end    int // rows from here on are not decoded
	making int // rows that lenses have
	over   bool
	failed []imageFailure
}

// An imageFailure is an image that could not be made.
type imageFailure struct {
	row, column int
	err         error
}

// decodeImages makes the tensors of a draw's rows in the batch's memory, straight from the files in
// the blocks. Rows whose files are lost leave the draw or move after the valid rows, depending on
// iterable.Losses.
func (c *collator) decodeImages(ctx context.Context, b *Batch, d *iterable.Draw) error {
	if err := c.nameDraw(d); err != nil {
		return err
	}
	j := &c.job
	j.begin(c, b)
	defer j.reset()
	for k, m := range c.images {
		if m.list == nil {
			j.sizes[k] = slices.Grow(j.sizes[k][:0], len(d.Picks))[:len(d.Picks)]
			j.files[k] = c.gatherer.Views(j.files[k][:0], m.column, m.path, d.Blocks, d.Picks)
		} else {
			l := &j.lists[k]
			j.files[k], l.edges, l.null = c.gatherer.ListViews(j.files[k][:0], l.edges[:0], l.null[:0], m.column, m.list.ListSize, m.within, d.Blocks, d.Picks)
		}
		var err error
		if m.device {
			err = c.divide(j, k, b)
		} else {
			j.tensors[k], err = b.Alloc(len(j.files[k]) * m.bytes)
		}
		if err != nil {
			return err
		}
		if m.list != nil && m.list.ListSize > 0 {
			j.clearNull(k)
		}
	}
	if err := j.all(ctx); err != nil {
		return err
	}
	return c.settle(j, b, d)
}

// nameDraw takes the names of a draw's rows before the columns are gathered.
func (c *collator) nameDraw(d *iterable.Draw) error {
	c.gatherer.Prepare(nil, nil, 0) // the picks of the previous batch may have been in the same memory
	alloc := func(n int) ([]byte, error) { return c.scratch.Alloc(n), nil }
	row, err := c.shape.Gather(&c.gatherer, c.naming.row, d.Blocks, d.Picks, alloc)
	if err != nil {
		return err
	}
	source, err := c.shape.Gather(&c.gatherer, c.naming.source, d.Blocks, d.Picks, alloc)
	if err != nil {
		return err
	}
	c.names.epochs = append(c.names.epochs[:0], d.After...)
	return c.names.set(row, source, len(d.Picks))
}

func (j *imageJob) begin(c *collator, b *Batch) {
	j.imaging, j.batch, j.names, j.skips = c.imaging, b, &c.names, c.onError == iterable.Mask || c.onError == iterable.Skip
	if j.files == nil {
		j.files, j.tensors, j.lists = make([][][]byte, len(c.images)), make([][]byte, len(c.images)), make([]imageLists, len(c.images))
		j.sizes, j.devices = make([][]image.Point, len(c.images)), make([]deviceRows, len(c.images))
	}
}

// reset forgets the files, whose blocks may go, and the failures.
func (j *imageJob) reset() {
	for k := range j.files {
		clear(j.files[k])
	}
	j.batch, j.failed = nil, nil
}

// all decodes the rows, and sorts the failures.
func (j *imageJob) all(ctx context.Context) error {
	err := j.do(ctx, j)
	slices.SortFunc(j.failed, func(a, b imageFailure) int { return cmp.Compare(a.row, b.row) })
	return err
}

// make makes the tensors of a row.
func (j *imageJob) make(l *lens, row int) {
	for k := range j.columns {
		if err := j.decodeRow(j.ctx, l, k, row); err != nil {
			j.fail(imageFailure{row, k, err})
			return
		}
	}
}

// decodeRow makes the tensors of a column's row. The images of a list, and views, draw by their
// numbers.
func (j *imageJob) decodeRow(ctx context.Context, l *lens, k, row int) error {
	m := j.columns[k]
	if m.device {
		return j.deviceRow(ctx, l, k, row)
	}
	lo, hi := j.bounds(k, row)
	each := m.bytes / m.views
	for i := range (hi - lo) * m.views {
		seed, _ := j.names.keyOf(row, m.number+i).pcg()
		f := imageFile{dst: j.tensors[k][lo*m.bytes+i*each:][:each], data: j.files[k][lo+i/m.views], seed: seed, row: row}
		if m.list == nil {
			f.job, f.first = j, i == 0 && m.leads()
		}
		if err := j.apply(ctx, l, k, f); err != nil {
			return err
		}
	}
	return nil
}

// fail notes a failure. One that ends the job ends it before all later rows, and the earlier ones
// are decoded, so that the first failure is the same whatever the number of lenses.
func (j *imageJob) fail(f imageFailure) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.skips || !isLostImage(f.err) {
		j.end = min(j.end, f.row)
	}
	j.failed = append(j.failed, f)
}

// settle makes the failed rows lost ones, or ends the job.
func (c *collator) settle(j *imageJob, b *Batch, d *iterable.Draw) error {
	if len(j.failed) == 0 {
		return nil
	}
	for _, f := range j.failed {
		x := c.loss(j, f)
		if !j.skips || !isLostImage(f.err) {
			return c.onError.Hinted(x.Err)
		}
		if f.row < b.Valid {
			b.losses = append(b.losses, x)
		}
	}
	if len(b.Hashes) > 0 {
		b.Gaps = j.gaps(b)
	}
	b.Valid, b.Lost = b.Valid-len(b.losses), b.Lost+len(b.losses)
	good := j.part(d)
	if c.onError == iterable.Skip {
		b.Rows, d.Picks = good, d.Picks[:good]
		return nil
	}
	for k, m := range j.columns {
		if m.list == nil && !m.device {
			clear(j.tensors[k][good*m.bytes:])
		}
	}
	return nil
}

// gaps are the places of lost rows among the batch's Hashes, with those of failed rows.
func (j *imageJob) gaps(b *Batch) (all []int32) {
	before, failed, row := b.Gaps, j.failed, 0
	for at := range int32(len(b.Hashes)) {
		switch {
		case len(before) > 0 && before[0] == at:
			before, all = before[1:], append(all, at)
			continue
		case len(failed) > 0 && failed[0].row == row:
			failed, all = failed[1:], append(all, at)
		}
		row++
	}
	return all
}

// part moves the failed rows behind the good ones, keeps both in their order, and returns the
// number of good ones. The tensors of failed rows mean nothing.
func (j *imageJob) part(d *iterable.Draw) (good int) {
	if len(d.After) > 0 {
		d.After = append(d.After, make([]int32, len(d.Picks)-len(d.After))...)
	}
	var picks []rowgroup.Pick
	var after []int32
	failed := j.failed
	for i, p := range d.Picks {
		if len(failed) > 0 && failed[0].row == i {
			failed = failed[1:]
			picks = append(picks, p)
			if len(d.After) > 0 {
				after = append(after, d.After[i])
			}
			continue
		}
		if good < i {
			j.move(d, i, good)
		}
		good++
	}
	for k, m := range j.columns {
		if m.list != nil {
			j.compact(k)
		} else if m.device {
			j.devices[k].compact(j.tensors[k], j.failed)
		}
	}
	copy(d.Picks[good:], picks)
	if len(d.After) > 0 {
		copy(d.After[good:], after)
	}
	return good
}

// move makes row from row to.
func (j *imageJob) move(d *iterable.Draw, from, to int) {
	d.Picks[to] = d.Picks[from]
	if len(d.After) > 0 {
		d.After[to] = d.After[from]
	}
	for k, m := range j.columns {
		if m.list != nil {
			continue
		}
		if j.sizes[k][to] = j.sizes[k][from]; !m.device {
			copy(j.tensors[k][to*m.bytes:][:m.bytes], j.tensors[k][from*m.bytes:])
		}
	}
}

// loss returns the place of a failure.
func (c *collator) loss(j *imageJob, f imageFailure) iterable.Loss {
	return imageLoss(c.placeOf, j.names.rows[f.row], j.columns[f.column].name, f.err)
}

// imageLoss is the loss of a row, by its number, whose image of a column failed.
func imageLoss(placeOf func(row int64) (iterable.RowPlace, error), row int64, name string, failed error) iterable.Loss {
	at, err := placeOf(row)
	if err != nil {
		return iterable.Loss{Err: errors.Join(failed, err)}
	}
	x := iterable.Loss{URI: at.URI, RowGroup: at.RowGroup, Lo: at.Row, Hi: at.Row + 1, Column: name, Page: -1}
	place := func(op string, err error) error {
		return &rowgroup.Error{Op: op, URI: at.URI, RowGroup: at.RowGroup, Column: name, Page: -1, Err: fmt.Errorf("row %d: %w", at.Row, err)}
	}
	switch broke, ok := failed.(*Error); {
	case ok:
		broke.Err = place("images", broke.Err)
		x.Err = broke
	case isLostImage(failed):
		x.Err = place("decode", failed)
	default:
		x.Err = place("images", failed)
	}
	return x
}

// imageArray is a column of the batch that has images. Other members of its structs are gathered.
func (c *collator) imageArray(i int, b *Batch, d *iterable.Draw) (*column.Array, error) {
	s, f := &c.shape.columns[i], c.schema.Fields[i]
	if len(s.images) > 0 {
		switch m := s.images[0]; {
		case m.list != nil:
			return c.listArray(m, b)
		case m.added || len(m.path) == 0:
			return c.imageValues(m, b.Rows), nil
		}
	}
	a, err := c.gatherer.Gather(s.source, s.stub, d.Blocks, d.Picks, b.Alloc)
	if err != nil {
		return nil, err
	}
	for _, m := range s.images {
		last := len(m.path) - 1
		arrayAt(a, m.path[:last]).Children[m.path[last]] = c.imageValues(m, b.Rows)
	}
	fit(a, f)
	return a, nil
}
