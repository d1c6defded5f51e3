package main

import (
	"cmp"
	"io"
	"slices"

	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/imagery"
	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/rowio"
	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/term"
	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A rowPrinter prints the rows of draws. Columns are gathered for many rows at once.
type rowPrinter struct {
	out    io.Writer
	format rowio.Format
	images *imagery.Facts // in place of images; nil: they are printed as they are
	most   int            // draws, of a row each, to gather at once: more are never held

	draws  []*iterable.Draw
	blocks []*rowgroup.Block
	places map[*rowgroup.Block]int // in blocks
	picks  []rowgroup.Pick

	lineWriter *term.LineWriter // out, if the state of the last row matters
	marks      []mark

	gather *rowio.Gather
	lines  []byte
}

// A mark is the state after a row, and where the row ends in the output.
type mark struct {
	end   int64
	state shuffle.State
}

func newRowPrinter(ds *iterable.Dataset, shape *loader.Shape, format rowio.Format, out io.Writer) *rowPrinter {
	p := &rowPrinter{out: out, gather: rowio.NewGather(shape), format: format, places: map[*rowgroup.Block]int{}}
	p.most = rowio.MaxGather
	if rows := ds.NumRows(); rows > 0 {
		var bytes int64
		for _, m := range ds.Manifests() {
			for g := range m.Groups() {
				narrow, wide := m.DecodedBytes(g)
				bytes += narrow + wide
			}
		}
		p.most = int(min(rowio.MaxGather, max(1, rowio.GatherBytes/(1+bytes/rows))))
	}
	return p
}

// add takes the draw, and prints the gathered rows when there are enough.
func (p *rowPrinter) add(d *iterable.Draw) error {
	if d.Rows == 0 { // a step that has no row for this worker
		d.Release()
		return nil
	}
	for _, pick := range d.Picks {
		block := d.Blocks[pick.Block()]
		place, known := p.places[block]
		if !known {
			place = len(p.blocks)
			p.places[block] = place
			p.blocks = append(p.blocks, block)
		}
		p.picks = append(p.picks, rowgroup.MakePick(place, pick.Row()))
	}
	p.draws = append(p.draws, d)
	if len(p.draws) >= p.most {
		return p.flush()
	}
	return nil
}

// flush prints the gathered rows, whole lines only, and releases their draws.
func (p *rowPrinter) flush() error {
	defer p.release()
	for done := 0; done < len(p.picks); {
		columns, n, err := p.gather.First(p.blocks, p.picks[done:])
		if err == nil && p.images != nil {
			columns, err = p.images.Columns(columns)
		}
		if err != nil {
			return err
		}
		p.lines = p.appendRows(p.lines[:0], columns, done, n)
		if _, err := p.out.Write(p.lines); err != nil {
			return err
		}
		p.trimMarks()
		done += n
	}
	return nil
}

// appendRows appends n of the gathered rows from one on, which columns hold.
func (p *rowPrinter) appendRows(dst []byte, columns []*column.Array, from, n int) []byte {
	if p.format.Batch != nil {
		return p.format.Batch(dst, columns, n)
	}
	for i := range n {
		dst = p.format.Row(dst, columns, i)
		if p.lineWriter != nil {
			p.marks = append(p.marks, mark{p.lineWriter.Written + int64(len(dst)), p.draws[from+i].State})
		}
	}
	return dst
}

// begin prints the text before the first row.
func (p *rowPrinter) begin() error {
	_, err := p.out.Write(p.format.Begin)
	return err
}

// end prints the gathered rows, and what comes after the last.
func (p *rowPrinter) end() error {
	if err := p.flush(); err != nil {
		return err
	}
	_, err := p.out.Write(p.format.End)
	return err
}

// trimMarks keeps the marks of rows that may still be in the pipe, and the last one before them.
func (p *rowPrinter) trimMarks() {
	if p.lineWriter == nil {
		return
	}
	sure := p.lineWriter.Sure()
	first, _ := slices.BinarySearchFunc(p.marks, sure, func(m mark, end int64) int { return cmp.Compare(m.end, end+1) })
	p.marks = slices.Delete(p.marks, 0, max(0, first-1))
}

// stateAfter returns the state after the last row that was printed whole before the error err, or
// else before.
func (p *rowPrinter) stateAfter(before shuffle.State, err error) shuffle.State {
	taken := p.lineWriter.Taken(err)
	for _, m := range p.marks {
		if m.end > taken {
			break
		}
		before = m.state
	}
	return before
}

func (p *rowPrinter) release() {
	for _, d := range p.draws {
		d.Release()
	}
	clear(p.draws)
	clear(p.blocks)
	clear(p.places)
	p.draws, p.blocks, p.picks = p.draws[:0], p.blocks[:0], p.picks[:0]
}

// close releases everything that was not printed.
func (p *rowPrinter) close() {
	p.release()
	p.gather.Close()
}
