package main

import (
	"io"

	"github.com/shardfeed/shardfeed/internal/jsonl"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/rowgroup"
)

const (
	maxGather   = 1024    // rows that are gathered at once
	gatherBytes = 8 << 20 // about the most memory that they may take
)

// A rowPrinter prints the rows of draws as JSON lines. Columns are gathered for many rows at once.
type rowPrinter struct {
	out    io.Writer
	schema *rowgroup.Schema
	writer *jsonl.Writer
	most   int // draws, of a row each, to gather at once: more are never held

	draws  []*iterable.Draw
	blocks []*rowgroup.Block
	places map[*rowgroup.Block]int // in blocks
	picks  []rowgroup.Pick

	gatherer rowgroup.Gatherer
	pool     mem.Pool
	arena    *mem.Arena
	lines    []byte
}

func newRowPrinter(ds *iterable.Dataset, out io.Writer) *rowPrinter {
	p := &rowPrinter{out: out, schema: ds.Schema(), writer: jsonl.NewWriter(ds.Schema()), places: map[*rowgroup.Block]int{}}
	p.arena = p.pool.NewArena()
	p.most = maxGather
	if rows := ds.NumRows(); rows > 0 {
		var bytes int64
		for g := range ds.Manifest().Groups() {
			narrow, wide := ds.Manifest().DecodedBytes(g)
			bytes += narrow + wide
		}
		p.most = int(min(maxGather, max(1, gatherBytes/(1+bytes/rows))))
	}
	return p
}

// add takes the draw and prints what was gathered when it is enough.
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

// flush prints the rows that wait, whole lines only, and gives their draws back.
func (p *rowPrinter) flush() error {
	defer p.release()
	if len(p.picks) == 0 {
		return nil
	}
	columns := make([]*rowgroup.Array, len(p.schema.Fields))
	for c, f := range p.schema.Fields {
		var err error
		columns[c], err = p.gatherer.Gather(c, f, p.blocks, p.picks, func(n int) ([]byte, error) { return p.arena.Alloc(n), nil })
		if err != nil {
			return err
		}
	}
	p.lines = p.lines[:0]
	for i := range p.picks {
		p.lines = p.writer.AppendRow(p.lines, columns, i)
	}
	_, err := p.out.Write(p.lines)
	return err
}

func (p *rowPrinter) release() {
	for _, d := range p.draws {
		d.Release()
	}
	clear(p.draws)
	clear(p.blocks)
	clear(p.places)
	p.draws, p.blocks, p.picks = p.draws[:0], p.blocks[:0], p.picks[:0]
	p.arena.Free()
}

// close gives everything back that was not printed.
func (p *rowPrinter) close() {
	p.release()
	p.pool.Trim(0)
}
