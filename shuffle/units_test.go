package shuffle

import (
	"fmt"
	"slices"
	"testing"
)

const mib = 1 << 20

// evenPages are the first rows of pages of so many rows.
func evenPages(rows, page int64) []int64 {
	var out []int64
	for r := int64(0); r < rows; r += page {
		out = append(out, r)
	}
	return out
}

// decodedBy says that a slice decodes whole pages of one column.
func decodedBy(rows, page, bytesPerRow int64) func([]int64) int64 {
	return func(edges []int64) int64 {
		sum, lo := int64(0), int64(0)
		for _, hi := range append(slices.Clone(edges), rows) {
			sum += (min(ceilDiv(hi, page)*page, rows) - lo/page*page) * bytesPerRow
			lo = hi
		}
		return sum
	}
}

func TestGroupEdges(t *testing.T) {
	for _, c := range []struct {
		name     string
		rows     int64
		layout   Layout
		unitRows int64
		want     []int64
	}{
		{"no page index", 1000, Layout{Bytes: 128 * mib}, 0, nil},
		{"pages, no prediction", 1000, Layout{Bytes: 128 * mib, Pages: evenPages(1000, 10)}, 0, nil},
		{"cut in 8", 1000, Layout{Bytes: 128 * mib, Pages: evenPages(1000, 5), Decoded: decodedBy(1000, 5, 1)}, 0, []int64{125, 250, 375, 500, 625, 750, 875}},
		{"slices of 16 MiB", 1000, Layout{Bytes: 128*mib - 1, Pages: evenPages(1000, 5), Decoded: decodedBy(1000, 5, 1)}, 0, []int64{250, 500, 750}},
		{"too small", 1000, Layout{Bytes: 32*mib - 1, Pages: evenPages(1000, 5), Decoded: decodedBy(1000, 5, 1)}, 0, nil},
		{"edges on pages", 1000, Layout{Bytes: 64 * mib, Pages: evenPages(1000, 60), Decoded: decodedBy(1000, 60, 1)}, 0, []int64{240, 480, 720}},
		{"the lower of two pages", 1000, Layout{Bytes: 32 * mib, Pages: []int64{0, 490, 510}, Decoded: decodedBy(1000, 1, 1)}, 0, []int64{490}},
		{"amplified by more than a tenth in 8", 1000, Layout{Bytes: 128 * mib, Pages: evenPages(1000, 1), Decoded: amplified(20)}, 0, []int64{250, 500, 750}},
		{"amplified by a tenth in 8", 1000, Layout{Bytes: 128 * mib, Pages: evenPages(1000, 1), Decoded: amplified(14)}, 0, rowEdges(1000, 8)},
		{"amplified in any", 1000, Layout{Bytes: 128 * mib, Pages: evenPages(1000, 1), Decoded: amplified(200)}, 0, nil},
		{"one page", 1000, Layout{Bytes: 128 * mib, Pages: []int64{0}, Decoded: decodedBy(1000, 1000, 1)}, 0, nil},
		{"256 MiB", 1000, Layout{Bytes: 256 * mib}, 0, nil},
		{"over 256 MiB", 1000, Layout{Bytes: 256*mib + 1}, 0, []int64{500}},
		{"1 GiB", 1001, Layout{Bytes: 1024 * mib}, 0, []int64{200, 400, 600, 800}}, // 4 slices would have 251 rows or 256.8 MiB
		{"over 256 MiB on pages", 1000, Layout{Bytes: 400 * mib, Pages: evenPages(1000, 90)}, 0, []int64{540}},
		{"over 256 MiB, pages too large", 1000, Layout{Bytes: 400 * mib, Pages: evenPages(1000, 700)}, 0, []int64{500}},
		{"4 GiB on pages", 1024, Layout{Bytes: 4096 * mib, Pages: evenPages(1024, 8), Decoded: decodedBy(1024, 8, 1)}, 0, rowEdges(1024, 16)},
		{"one row over 256 MiB", 1, Layout{Bytes: 400 * mib}, 0, nil},
		{"three rows over 256 MiB each", 3, Layout{Bytes: 4096 * mib}, 0, []int64{1, 2}},
		{"many tiny rows", 40_000_000, Layout{Bytes: mib}, 0, []int64{13_333_333, 26_666_666}},
		{"bytes unknown", 1000, Layout{Bytes: -5}, 0, nil},
		{"pinned", 1000, Layout{Bytes: mib}, 300, []int64{250, 500, 750}},
		{"pinned over the group", 1000, Layout{Bytes: mib}, 5000, nil},
		{"pinned to a row", 3, Layout{}, 1, []int64{1, 2}},
		{"pinned on pages", 1000, Layout{Bytes: mib, Pages: evenPages(1000, 90)}, 300, []int64{270, 540, 720}},
		{"pinned finer than pages", 1000, Layout{Bytes: mib, Pages: evenPages(1000, 400)}, 100, []int64{400, 800}},
		{"pinned over 256 MiB", 1000, Layout{Bytes: 1024 * mib}, 1000, nil},
		{"pinned beyond what a permutation may take", 40_000_000, Layout{Pages: []int64{0, 30_000_000}}, 1 << 40, []int64{13_333_333, 26_666_666}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := groupEdges(c.rows, c.layout, c.unitRows); !slices.Equal(got, c.want) {
				t.Errorf("edges %v, want %v", got, c.want)
			}
		})
	}
}

// amplified says that each edge decodes so many thousandths more.
func amplified(perMille int64) func([]int64) int64 {
	return func(edges []int64) int64 { return 1000 + perMille*int64(len(edges)) }
}

func TestCutUnitsCoverTheGroups(t *testing.T) {
	for n := range cases(t, 500) {
		r := newRNG("test", 9, n)
		m := randomManifest(&r, 5, 5, 0, 400)
		layouts := make([]Layout, len(m.Groups))
		for g := range layouts {
			layouts[g].Bytes = int64(r.below(3 << 30))
			if rows := m.Groups[g].Rows; rows > 0 && r.below(2) == 0 {
				page := 1 + int64(r.below(uint64(rows)))
				layouts[g].Pages, layouts[g].Decoded = evenPages(rows, page), decodedBy(rows, page, 1+layouts[g].Bytes/rows)
			}
		}
		unitRows := int64(0)
		if r.below(2) == 0 {
			unitRows = 1 + int64(r.below(200))
		}
		units, err := CutUnits(m, func(g int) Layout { return layouts[g] }, unitRows)
		if err != nil {
			t.Fatal(err)
		}
		if err := checkUnits(m, ListUnits(units.List())); err != nil || len(units.List()) != units.Len() {
			t.Fatalf("case %d: %d units: %v", n, units.Len(), err)
		}
		for i, u := range units.All() {
			if at := units.At(i); at != u {
				t.Fatalf("case %d: unit %d is %+v, and by number %+v", n, i, u, at)
			}
			l, rows := layouts[u.Group], m.Groups[u.Group].Rows
			if unitRows == 0 && u.Rows() > 1 && !mulLE(u.Rows(), l.Bytes, maxUnitBytes, rows) {
				t.Errorf("case %d: unit %+v of %d rows in %d bytes", n, u, rows, l.Bytes)
			}
			if unitRows > 0 && len(l.Pages) == 0 && u.Rows() > unitRows {
				t.Errorf("case %d: unit %+v where unit_rows is %d", n, u, unitRows)
			}
		}
	}
}

func TestCutUnitsRefuses(t *testing.T) {
	for _, c := range []struct {
		rows, bytes, unitRows int64
	}{{10, 0, -1}, {1 << 62, 0, 0}, {1 << 40, 0, 1}, {1 << 30, 1 << 62, 0}} {
		t.Run(fmt.Sprintf("%+v", c.rows), func(t *testing.T) {
			m := manifestOf([]int64{c.rows})
			if units, err := CutUnits(m, func(int) Layout { return Layout{Bytes: c.bytes} }, c.unitRows); err == nil {
				t.Errorf("%+v makes %d units", c, units.Len())
			}
		})
	}
}

// Finer cuts units into even pieces, and leaves the others as they are.
func TestFinerUnits(t *testing.T) {
	m := manifestOf([]int64{10, 0, 7}, []int64{0, 3})
	units := cutUnits(t, m, 5)
	finer, err := units.Finer(func(u Unit) int64 { return map[int]int64{0: 2, 2: 1, 4: 3}[u.Group] })
	if err != nil {
		t.Fatal(err)
	}
	want := []Unit{
		{Group: 0, Lo: 0, Hi: 2, Samples: 2},
		{Group: 0, Lo: 2, Hi: 5, Samples: 3},
		{Group: 0, Lo: 5, Hi: 7, Samples: 2},
		{Group: 0, Lo: 7, Hi: 10, Samples: 3},
		{Group: 2, Lo: 0, Hi: 3, Samples: 3},
		{Group: 2, Lo: 3, Hi: 7, Samples: 4},
		{Group: 4, Lo: 0, Hi: 1, Samples: 1},
		{Group: 4, Lo: 1, Hi: 2, Samples: 1},
		{Group: 4, Lo: 2, Hi: 3, Samples: 1},
	}
	if got := finer.List(); !slices.Equal(got, want) || finer.Largest() != 4 {
		t.Errorf("got %v, the largest of %d rows; want %v", got, finer.Largest(), want)
	}
	if err := checkUnits(m, finer); err != nil {
		t.Error(err)
	}
}
