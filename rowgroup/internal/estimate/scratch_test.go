package estimate

import (
	"testing"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
)

func TestScratchOfSlice(t *testing.T) {
	s := Scratch{Pages: 1000, Levels: 100, Column: 400, Few: 40, Aside: 60, Edge: 30}
	for _, c := range []struct {
		name string
		got  int64
		want int64
	}{
		{"all rows", s.Of(100, 100, false), 1000 + 100 + 60},
		{"all rows, reordered", s.Of(100, 100, true), 1000 + 100 + 60 + 400},
		{"a quarter", s.Of(25, 100, false), 1000 + 40 + 100 + 30},
		{"nearly all have at most the column", s.Of(95, 100, false), 1000 + 152 + 400},
		{"half of the rows are kept", s.OfKept(50, 100, 100), 1000 + 100 + 60 + 400},
		{"few are", s.OfKept(49, 100, 100), 1000 + 100 + 29 + 40},
		{"of no rows", s.OfKept(0, 0, 100), 1000 + 0 + 30},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d bytes, want %d", c.name, c.got, c.want)
		}
	}
}

func TestScratchOf(t *testing.T) {
	const rows = 1 << 20
	r := chunk{values: rows, uncompressed: 8 * rows, codec: 1, pages: []page{{1000, 0}, {1000, rows / 2}}}.record(t)
	column8 := leaf(column.Field{Kind: column.Fixed, Width: 8})
	var all Estimator
	all.Alloc(8 * rows)
	for _, c := range []struct {
		name          string
		drops         bool
		column, aside int64
	}{{"stays", false, scratchBytes(all.Narrow), 0}, {"dropped", true, scratchBytes(all.Narrow), all.Total()}} {
		s := ScratchOf(r, 0, rows, []*schema.Node{column8}, func(int) bool { return c.drops })
		if s.Column != c.column || s.Aside != c.aside || s.Edges != 0 || s.Edge != max(s.Column, s.Few) {
			t.Errorf("%s: %+v, want %d for the column and %d aside, and a page at each edge", c.name, s, c.column, c.aside)
		}
	}
}

func TestScratchBytes(t *testing.T) {
	for n, want := range map[int64]int64{0: mem.ClassBytes(128), 800_000: mem.ClassBytes(900_128)} {
		if got := scratchBytes(n); got != want {
			t.Errorf("%d bytes take %d, want %d", n, got, want)
		}
	}
}

func TestLargestPage(t *testing.T) {
	const mib = 1 << 20
	whole := pageSize{64 * mib, 6400, 640}
	for _, c := range []struct {
		name  string
		chunk chunk
		rows  int64
		want  pageSize
	}{
		{"as large as writers make them", chunk{}, 640, pageSize{pageGuess, 801, 81}},
		{"fastparquet has one page", chunk{writer: "fastparquet-python version 2024"}, 640, whole},
		{"the most rows", chunk{pages: []page{{10, 0}, {10, 160}}}, 640, pageSize{48 * mib, 4801, 481}},
		{"the most bytes", chunk{pages: []page{{10, 0}, {30, 320}}}, 640, pageSize{48 * mib, 4801, 321}},
		{"no rows", chunk{}, 0, pageSize{64 * mib, 6400, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.chunk.uncompressed, c.chunk.values = 64*mib, 6400
			if got := largestPage(c.chunk.record(t), 0, c.rows); got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}
