package shuffle

import (
	"math"
	"testing"

	"github.com/shardfeed/shardfeed/internal/racetest"
)

// mixing is what the batches of an epoch show of data that is sorted throughout: 100 labels in
// ascending order.
type mixing struct {
	batch   int
	rows    int64
	starts  []int64 // source row of each group
	batches int

	chi  float64 // mean chi-square over its degrees of freedom; a perfect shuffle has 1
	deff float64 // variance of the mean source row over that of independent rows
	seen []int   // groups in each batch

	in     int
	labels [100]int
	sum    float64
	stamp  []int
	groups int
}

func newMixing(m *Manifest, batch int) *mixing {
	x := &mixing{batch: batch, rows: m.Rows(), stamp: make([]int, len(m.Groups)), starts: make([]int64, len(m.Groups))}
	for g := 1; g < len(m.Groups); g++ {
		x.starts[g] = x.starts[g-1] + m.Groups[g-1].Rows
	}
	return x
}

func (x *mixing) add(group int, row int64) {
	source := x.starts[group] + row
	x.labels[source*100/x.rows]++
	x.sum += float64(source)/float64(x.rows) - 0.5
	if x.stamp[group] != x.batches+1 {
		x.stamp[group] = x.batches + 1
		x.groups++
	}
	if x.in++; x.in < x.batch {
		return
	}
	mean := float64(x.batch) / 100
	for _, c := range x.labels {
		x.chi += (float64(c) - mean) * (float64(c) - mean) / mean / 99
	}
	x.deff += x.sum * x.sum / float64(x.batch) * 12
	x.seen = append(x.seen, x.groups)
	x.batches++
	x.in, x.sum, x.groups, x.labels = 0, 0, 0, [100]int{}
}

func (x *mixing) result() (chi, deff, groups, first, last float64) {
	mean := func(a []int) float64 {
		sum := 0
		for _, n := range a {
			sum += n
		}
		return float64(sum) / float64(len(a))
	}
	one := max(1, len(x.seen)/100)
	n := float64(x.batches)
	return x.chi / n, x.deff / n, mean(x.seen), mean(x.seen[:one]), mean(x.seen[len(x.seen)-one:])
}

// laneCursor walks the rows of a lane.
type laneCursor struct {
	it     *Iter
	tick   Tick
	next   int
	orders map[uint32][]uint32
	free   [][]uint32
}

func (c *laneCursor) row() (Span, uint32, bool) {
	for c.next == len(c.tick.Picks) {
		for _, j := range c.tick.Finished {
			c.free = append(c.free, c.orders[j])
			delete(c.orders, j)
		}
		if !c.it.Next(&c.tick) {
			return Span{}, 0, false
		}
		c.next = 0
		for _, j := range c.tick.Load {
			var dst []uint32
			if n := len(c.free); n > 0 {
				dst, c.free = c.free[n-1], c.free[:n-1]
			}
			c.orders[j] = c.it.lane.RowOrder(int(j), dst)
		}
	}
	p := c.tick.Picks[c.next]
	c.next++
	return c.it.lane.Span(int(p.Span)), c.orders[p.Span][p.Seq], true
}

func mixPlan(p *Plan, batch int) *mixing {
	e := p.Epoch(0)
	cursors := make([]laneCursor, p.params.Lanes)
	for slot := range cursors {
		cursors[slot] = laneCursor{it: e.Lane(slot).Iter(), orders: map[uint32][]uint32{}}
	}
	x := newMixing(p.manifest, batch)
	for pos := range p.Rows() {
		s, row, ok := cursors[e.Slot(pos)].row()
		if !ok {
			panic("a lane ended early")
		}
		x.add(p.units.At(s.Unit).Group, p.units.At(s.Unit).Lo+s.From+int64(row))
	}
	return x
}

// feed calls emit with all rows of whole groups, shard by shard in shuffled order, or group by
// group.
func feed(m *Manifest, byGroup bool, emit func(group int, row int64)) {
	r := newRNG("test", 13)
	var runs [][2]int // groups [from, to)
	for g := range m.Groups {
		if n := len(runs); n > 0 && !byGroup && m.Groups[g].Shard == m.Groups[g-1].Shard {
			runs[n-1][1]++
		} else {
			runs = append(runs, [2]int{g, g + 1})
		}
	}
	shuffle(&r, runs)
	for _, run := range runs {
		for g := run[0]; g < run[1]; g++ {
			for row := range m.Groups[g].Rows {
				emit(g, row)
			}
		}
	}
}

// mixReservoir is the row buffer of other loaders: each row read takes the place of a random row,
// which is emitted.
func mixReservoir(m *Manifest, batch int, rows int64, byGroup bool) *mixing {
	x, r := newMixing(m, batch), newRNG("test", 14)
	buf := make([]testRow, 0, rows)
	feed(m, byGroup, func(group int, row int64) {
		if int64(len(buf)) < rows {
			buf = append(buf, testRow{group, row})
			return
		}
		i := r.below(uint64(rows))
		x.add(buf[i].group, buf[i].row)
		buf[i] = testRow{group, row}
	})
	return x
}

// mixBlocks fills a buffer with whole groups, shuffles it, empties it, and so on.
func mixBlocks(m *Manifest, batch int, rows int64) *mixing {
	x, r := newMixing(m, batch), newRNG("test", 15)
	var buf []testRow
	flush := func() {
		shuffle(&r, buf)
		for _, t := range buf {
			x.add(t.group, t.row)
		}
		buf = buf[:0]
	}
	feed(m, true, func(group int, row int64) {
		if int64(len(buf)) >= rows && row == 0 {
			flush()
		}
		buf = append(buf, testRow{group, row})
	})
	flush()
	return x
}

// The gates of quality, on sorted data, the worst case, with a buffer of a hundredth of it.
func TestMixesSortedData(t *testing.T) {
	shards, batch := 2000, 1024
	if testing.Short() || racetest.Enabled {
		shards, batch = 400, 256
	}
	m := studyManifest(shards)
	for g := range m.Groups {
		m.Groups[g].Rows /= 10
	}
	R := m.Rows() / 100
	_, deffFile, _, _, _ := mixReservoir(m, batch, R, false).result()
	chiGroup, deffGroup, _, _, _ := mixReservoir(m, batch, R, true).result()
	chiBlock, deffBlock, _, _, _ := mixBlocks(m, batch, R).result()
	t.Logf("row buffer fed by shards: deff %.2f; by groups: chi %.2f deff %.2f; blocks: chi %.2f deff %.2f", deffFile, chiGroup, deffGroup, chiBlock, deffBlock)

	for _, c := range []struct {
		name     string
		o        Options
		beats    float64 // deff that must not be reached
		chiBelow float64
	}{
		{"whole groups", Options{Buffer: R}, min(deffFile, deffBlock), chiBlock},
		{"quarters", Options{Buffer: R, UnitRows: 690}, deffGroup / 2, chiGroup / 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlan(t, m, c.o, 7)
			chi, deff, groups, first, last := mixPlan(p, batch).result()
			q := p.Quality(int64(batch))
			t.Logf("%s (L %d, A %d, D %d): chi %.2f, deff %.2f (foretold %.2f), groups %.0f (%.0f), first 1 %% %.0f, last 1 %% %.0f",
				c.name, p.params.Lanes, p.params.Quantum, p.params.Life, chi, deff, q.Deff, groups, q.Units, first, last)
			if math.Abs(deff/q.Deff-1) > 0.15 {
				t.Errorf("deff %.2f is not within 15 %% of %.2f", deff, q.Deff)
			}
			if chi > 1.15*q.Deff {
				t.Errorf("chi-square %.2f is over 1.15 x %.2f", chi, q.Deff)
			}
			if math.Abs(groups/q.Units-1) > 0.15 {
				t.Errorf("%.0f groups in the mean batch, %.0f were foretold", groups, q.Units)
			}
			if last < 0.8*groups || first < 0.4*groups {
				t.Errorf("first and last batches have %.0f and %.0f groups, the mean %.0f", first, last, groups)
			}
			if deff >= c.beats || chi >= c.chiBelow {
				t.Errorf("deff %.2f and chi-square %.2f must be below %.2f and %.2f", deff, chi, c.beats, c.chiBelow)
			}
		})
	}
}

// A buffer that holds all data is a full shuffle.
func TestFullBufferMixesFully(t *testing.T) {
	m := studyManifest(40)
	for g := range m.Groups {
		m.Groups[g].Rows /= 10
	}
	for _, world := range []int{1, 8} {
		p := newPlan(t, m, Options{Buffer: m.Rows(), WorldSize: world}, 7)
		chi, deff, _, _, _ := mixPlan(p, 256).result()
		if chi > 1.1 || deff > 1.2 {
			t.Errorf("world %d: chi-square %.2f, deff %.2f", world, chi, deff)
		}
		if q := p.Quality(256); q.Deff != 1 || q.FewUnits {
			t.Errorf("world %d: foretold %+v", world, q)
		}
	}
}
