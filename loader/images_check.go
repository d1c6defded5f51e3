package loader

import (
	"context"
	"slices"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/images/codec"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/rowgroup"
)

// An ImageCheck decodes the images of rows, whole and at full size, and finds those that cannot be
// decoded. Its methods are safe for concurrent use.
type ImageCheck struct {
	columns []*imageColumn
	open    func() (codec.Decoder, error)
	headers bool
	room    *semaphore.Weighted // bytes of scratch memory

	mu   sync.Mutex
	idle []*imageChecker
}

// checkScratch is the scratch memory of all images that are checked at once. A larger one is
// checked while no other is.
const checkScratch = 512 << 20

// An imageChecker is the state of one goroutine.
type imageChecker struct {
	gatherer rowgroup.Gatherer
	decoder  codec.Decoder
	files    [][]byte
	lists    imageLists
	picks    []rowgroup.Pick
}

// NewImageCheck makes a check of the image columns that the options name, by their limits. With
// headers it reads headers only, and finds files that are null, truncated JPEGs, of other formats,
// or beyond the limits.
func NewImageCheck(data *column.Schema, o Options, headers bool) (*ImageCheck, error) {
	shape, err := o.Shape(data)
	if err != nil {
		return nil, err
	}
	c := &ImageCheck{open: o.ImageDecoder, headers: headers, room: semaphore.NewWeighted(checkScratch)}
	if c.open == nil {
		c.open = goDecoder
	}
	for _, s := range shape.columns {
		c.columns = append(c.columns, s.images...)
	}
	return c, nil
}

// Rows finds the rows of blocks with an image that cannot be decoded, once for each column.
func (c *ImageCheck) Rows(ctx context.Context, blocks []*rowgroup.Block) (bad []iterable.BadRow, err error) {
	w := c.take()
	defer c.give(w)
	w.picks = w.picks[:0]
	for k, b := range blocks {
		for row := range b.Rows() {
			w.picks = append(w.picks, rowgroup.MakePick(k, row))
		}
	}
	for _, m := range c.columns {
		w.gather(m, blocks)
		for row := range w.picks {
			err := c.row(ctx, w, m, row)
			if err == nil {
				continue
			}
			if !isLostImage(err) {
				return nil, err
			}
			bad = append(bad, iterable.BadRow{Row: int64(row), Column: m.name, Err: err})
		}
		clear(w.files) // they are in the blocks
	}
	return bad, nil
}

func (c *ImageCheck) take() *imageChecker {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := len(c.idle) - 1
	if last < 0 {
		return &imageChecker{}
	}
	w := c.idle[last]
	c.idle = c.idle[:last]
	return w
}

func (c *ImageCheck) give(w *imageChecker) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle = append(c.idle, w)
}

// Close frees the decoders. No Rows may be running.
func (c *ImageCheck) Close() {
	for _, w := range c.idle {
		if w.decoder != nil {
			_ = w.decoder.Close() // which frees memory
		}
	}
	c.idle = nil
}

// gather finds the files of a column.
func (w *imageChecker) gather(m *imageColumn, blocks []*rowgroup.Block) {
	l := &w.lists
	if m.list != nil {
		w.files, l.edges, l.null = w.gatherer.ListViews(w.files[:0], l.edges[:0], l.null[:0], m.column, m.list.ListSize, m.within, blocks, w.picks)
		return
	}
	w.files = w.gatherer.Views(w.files[:0], m.column, m.path, blocks, w.picks)
}

// row checks the images of a row.
func (c *ImageCheck) row(ctx context.Context, w *imageChecker, m *imageColumn, row int) error {
	files := w.files[row : row+1]
	if m.list != nil {
		files = nil
		if !w.lists.null[row] {
			files = w.files[w.lists.edges[row]:w.lists.edges[row+1]]
		}
	}
	for _, data := range files {
		if data == nil {
			return m.missing()
		}
		h, err := codec.ReadHeader(data)
		if err == nil {
			err = m.options.Limits().Check(h)
		}
		if err == nil && !c.headers {
			err = c.decode(ctx, w, data, h)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// decode decodes a file.
func (c *ImageCheck) decode(ctx context.Context, w *imageChecker, data []byte, h codec.Header) (err error) {
	if w.decoder == nil {
		if w.decoder, err = c.open(); err != nil {
			return err
		}
	}
	need := min(w.decoder.Memory(h), checkScratch)
	if err := c.room.Acquire(ctx, need); err != nil {
		return err
	}
	defer c.room.Release(need)
	_, err = w.decoder.Decode(data, h, h.Bounds(), 1)
	if need > lensScratch { // it keeps no more between files
		_ = w.decoder.Close()
		w.decoder = nil
	}
	return err
}

// FileColumns names the binary columns among some fields that is accepts: members of structs by
// dotted paths, and lists of them by the list's name.
func FileColumns(fields []*column.Field, is func(f *column.Field) bool) (names []string) {
	var visit func(name string, f *column.Field)
	visit = func(name string, f *column.Field) {
		switch f.Kind {
		case column.List:
			visit(name, f.Children[0])
		case column.Struct:
			for _, c := range f.Children {
				visit(name+"."+c.Name, c)
			}
		case column.Binary:
			if is(f) && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	for _, f := range fields {
		visit(f.Name, f)
	}
	return names
}
