package rowio

import (
	"errors"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/rowgroup"
)

const (
	// MaxGather is the number of rows that are gathered at once.
	MaxGather = 1024

	// GatherBytes bounds the memory of the rows that are gathered at once, unless one row takes
	// more. No account counts it.
	GatherBytes = 8 << 20
)

var errGathered = errors.New("the rows take too much memory together")

// A Gather collects rows for printing. It counts the memory they take, because a dictionary may
// share a long value among any number of rows.
type Gather struct {
	shape    *loader.Shape
	gatherer rowgroup.Gatherer
	pool     mem.Pool
	arena    *mem.Arena
}

// NewGather makes a Gather of the shape's columns.
func NewGather(shape *loader.Shape) *Gather {
	g := &Gather{shape: shape}
	g.arena = g.pool.NewArena()
	return g
}

// First gathers the first n of the rows, as many as there is room for, and at least one. They are
// valid until the next call.
func (g *Gather) First(blocks []*rowgroup.Block, picks []rowgroup.Pick) (columns []*column.Array, n int, err error) {
	for n = len(picks); ; n = (n + 1) / 2 {
		columns, err = g.gather(blocks, picks[:n])
		if n < 2 || !errors.Is(err, errGathered) {
			return columns, n, err
		}
	}
}

func (g *Gather) gather(blocks []*rowgroup.Block, picks []rowgroup.Pick) ([]*column.Array, error) {
	g.arena.Free()
	total := 0
	room := func(n int) ([]byte, error) {
		if total += n; total > GatherBytes && len(picks) > 1 {
			return nil, errGathered
		}
		return g.arena.Alloc(n), nil
	}
	columns := make([]*column.Array, len(g.shape.Schema().Fields))
	for c := range columns {
		var err error
		if columns[c], err = g.shape.Gather(&g.gatherer, c, blocks, picks, room); err != nil {
			return nil, err
		}
	}
	return columns, nil
}

// Close frees the memory.
func (g *Gather) Close() {
	g.arena.Free()
	g.pool.Trim(0)
}
