package rule

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/internal/option"
)

// groupsOf are the row groups of a manifest as slices of whole groups.
func groupsOf(rows ...int64) (all []Slice) {
	first := int64(0)
	for _, n := range rows {
		all = append(all, Slice{First: first, Rows: n, Hi: n})
		first += n
	}
	return all
}

func randomGroups(r *rand.Rand) []Slice {
	rows := make([]int64, 1+r.IntN(12))
	for i := range rows {
		rows[i] = r.Int64N(2000)
		if r.IntN(4) == 0 {
			rows[i] = r.Int64N(3 * runRows)
		}
	}
	return groupsOf(rows...)
}

func partOf(t *testing.T, s Split) *Part {
	t.Helper()
	p, err := NewPart(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// allRows is the bits of so many rows, all set.
func allRows(rows int64) []uint64 {
	set := make([]uint64, wordsFor(int(rows)))
	for i := range rows {
		set[i/64] |= 1 << (i % 64)
	}
	return set
}

func countBits(set []uint64) (n int64) {
	for _, w := range set {
		n += int64(bits.OnesCount64(w))
	}
	return n
}

// Parts by ratio are disjoint, complete, and exact within 3 rows over the data; each row group has
// its share.
func TestPartsByRatio(t *testing.T) {
	for n, weights := range []map[string]float64{
		{"train": 9, "val": 1},
		{"train": 0.8, "val": 0.1, "test": 0.1},
		{"a": 1, "b": 1, "c": 1, "d": 1, "e": 1},
		{"all": 1, "none": 0},
		{"most": 999, "few": 1},
	} {
		t.Run(fmt.Sprint(weights), func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, uint64(n)))
			for range 6 {
				checkParts(t, r, weights)
			}
		})
	}
}

func checkParts(t *testing.T, r *rand.Rand, weights map[string]float64) {
	t.Helper()
	var total float64
	for _, w := range weights {
		total += w
	}
	groups := randomGroups(r)
	taken := make([][]uint64, len(groups))
	for g, s := range groups {
		taken[g] = make([]uint64, wordsFor(int(s.Rows)))
	}
	seed := r.Uint64()
	for name, w := range weights {
		if w == 0 {
			continue
		}
		m := partOf(t, Split{Parts: weights, Part: name, Seed: seed}).Marker()
		var rows, mine int64
		for g, s := range groups {
			keep := allRows(s.Rows)
			m.ByRow(s, keep)
			for i, bits := range keep {
				if taken[g][i]&bits != 0 {
					t.Fatalf("group %d: rows of %s are of another part", g, name)
				}
				taken[g][i] |= bits
			}
			if got := m.Count(s); got != countBits(keep) {
				t.Fatalf("group %d: %d rows of %s are counted, %d are marked", g, got, name, countBits(keep))
			}
			if want := float64(s.Rows) * w / total; math.Abs(float64(countBits(keep))-want) > 6 {
				t.Fatalf("group %d has %d of %d rows in %s, want %.1f", g, countBits(keep), s.Rows, name, want)
			}
			rows, mine = rows+s.Rows, mine+countBits(keep)
		}
		if want := float64(rows) * w / total; math.Abs(float64(mine)-want) > 3+float64(rows)/(1<<20) {
			t.Errorf("%s has %d of %d rows, want %.1f", name, mine, rows, want)
		}
	}
	for g, s := range groups {
		if countBits(taken[g]) != s.Rows {
			t.Fatalf("group %d: %d of %d rows are in a part", g, countBits(taken[g]), s.Rows)
		}
	}
}

// The rows of a part depend neither on how groups are cut into units nor on earlier calls.
func TestPartsOfAnyUnits(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for _, split := range []Split{
		{Parts: map[string]float64{"train": 9, "val": 1}, Part: "val", Seed: 3},
		{Parts: map[string]float64{"train": 9, "val": 1}, Part: "train", Subsample: 0.3},
		{Subsample: 0.05},
	} {
		p := partOf(t, split)
		for _, s := range randomGroups(r) {
			whole := allRows(s.Rows)
			p.Marker().ByRow(s, whole)
			again := p.Marker()
			for range 5 {
				lo := r.Int64N(s.Rows + 1)
				hi := lo + r.Int64N(s.Rows-lo+1)
				unit := Slice{First: s.First, Rows: s.Rows, Lo: lo, Hi: hi}
				keep := allRows(hi - lo)
				again.ByRow(unit, keep)
				for row := lo; row < hi; row++ {
					if i := row - lo; keep[i/64]>>(i%64)&1 != whole[row/64]>>(row%64)&1 {
						t.Fatalf("row %d of a group of %d is in another part as row %d of a unit", row, s.Rows, i)
					}
				}
				if got := again.Count(unit); got != countBits(keep) {
					t.Fatalf("%d rows are counted, %d are marked", got, countBits(keep))
				}
			}
		}
	}
}

// A sample is of the part's rows, as many as it should have, and other parts do not meet it.
func TestSubsampleOfAPart(t *testing.T) {
	weights := map[string]float64{"train": 9, "val": 1}
	groups := groupsOf(100_000, 777, 12_345, 3, 200_000)
	for _, c := range []struct {
		part  string
		share float64
	}{{"train", 0.1}, {"train", 0.75}, {"val", 0.1}, {"val", 0.5}} {
		t.Run(fmt.Sprintf("%v of %s", c.share, c.part), func(t *testing.T) {
			part, sample := partOf(t, Split{Parts: weights, Part: c.part}), partOf(t, Split{Parts: weights, Part: c.part, Subsample: c.share})
			var rows, kept int64
			for _, s := range groups {
				of, keep := allRows(s.Rows), allRows(s.Rows)
				part.Marker().ByRow(s, of)
				sample.Marker().ByRow(s, keep)
				for i := range keep {
					if keep[i]&^of[i] != 0 {
						t.Fatal("rows of the sample are not of the part")
					}
				}
				rows, kept = rows+countBits(of), kept+countBits(keep)
			}
			if want := float64(rows) * c.share; math.Abs(float64(kept)-want) > 3 {
				t.Errorf("%d of %d rows, want %.1f", kept, rows, want)
			}
		})
	}
}

// The rows of a part are drawn, not the first ones, and another seed draws others.
func TestPartsAreDrawn(t *testing.T) {
	s := groupsOf(10_000)[0]
	marked := func(seed uint64) []uint64 {
		keep := allRows(s.Rows)
		partOf(t, Split{Parts: map[string]float64{"train": 9, "val": 1}, Part: "val", Seed: seed}).Marker().ByRow(s, keep)
		return keep
	}
	a, b := marked(0), marked(1)
	if n := countBits(a[:len(a)/2]); n < 400 || n > 600 {
		t.Errorf("%d of 1,000 rows are in the first half", n)
	}
	var both int64
	for i := range a {
		both += int64(bits.OnesCount64(a[i] & b[i]))
	}
	if both < 50 || both > 160 {
		t.Errorf("two seeds have %d of 1,000 rows in common", both)
	}
}

// The rows of a small part in clear, for a reimplementation.
func TestGoldenParts(t *testing.T) {
	for _, c := range []struct {
		split Split
		want  string
	}{
		{Split{Parts: map[string]float64{"train": 3, "val": 1}, Part: "val"}, "[1 8 11 13 15 18]"},
		{Split{Parts: map[string]float64{"train": 3, "val": 1}, Part: "val", Seed: 7}, "[5 7 14 15 16 17]"},
		{Split{Parts: map[string]float64{"train": 3, "val": 1}, Part: "train", Subsample: 0.5}, "[0 2 5 7 9 12 16 17 22]"},
		{Split{Subsample: 0.2}, "[2 7 16 17]"},
	} {
		t.Run(fmt.Sprint(c.split), func(t *testing.T) {
			var rows []int64
			for _, s := range groupsOf(11, 0, 13) {
				keep := allRows(s.Rows)
				partOf(t, c.split).Marker().ByRow(s, keep)
				for row := range s.Rows {
					if keep[0]>>row&1 == 1 {
						rows = append(rows, s.First+row)
					}
				}
			}
			if got := fmt.Sprint(rows); got != c.want {
				t.Errorf("rows %s, want %s", got, c.want)
			}
		})
	}
}

func TestSplitRefuses(t *testing.T) {
	two := map[string]float64{"train": 9, "val": 1}
	for _, c := range []struct {
		name  string
		split Split
		want  string
	}{
		{"unknown part", Split{Parts: two, Part: "vla"}, `part must be one of train, val, got "vla"`},
		{"no part named", Split{Parts: two}, `part must be one of train, val, got ""`},
		{"part alone", Split{Part: "train"}, `part needs parts, got "train" alone`},
		{"empty part", Split{Parts: map[string]float64{"a": 1, "b": 0}, Part: "b"}, `part must have a weight above 0 in parts, got "b" with 0`},
		{"negative", Split{Parts: map[string]float64{"a": -1, "b": 1}, Part: "b"}, `parts["a"] must be a weight of at least 0, got -1`},
		{"not a number", Split{Parts: map[string]float64{"a": math.NaN()}, Part: "a"}, `parts["a"] must be a weight of at least 0, got NaN`},
		{"infinite", Split{Parts: map[string]float64{"a": math.Inf(1)}, Part: "a"}, `parts["a"] must be a weight of at least 0, got +Inf`},
		{"nameless", Split{Parts: map[string]float64{"": 1}}, `parts[""] must have a name`},
		{"sample over 1", Split{Subsample: 1.5}, "subsample must be from 0.000001 to 1, got 1.5"},
		{"tiny sample", Split{Subsample: 1e-9}, "subsample must be from 0.000001 to 1, got 1e-09"},
		{"negative sample", Split{Subsample: -0.1}, "subsample must be from 0.000001 to 1, got -0.1"},
		{"sample is no number", Split{Subsample: math.NaN()}, "subsample must be from 0.000001 to 1, got NaN"},
		{"key alone", Split{Key: "user"}, `part_key needs parts or subsample, got "user" alone`},
		{"seed alone", Split{Seed: 5}, "part_seed needs parts or subsample, got 5 alone"},
		{"several", Split{Parts: two, Subsample: 2}, "part must be one of train, val, got \"\"\nsubsample must be from 0.000001 to 1, got 2"},
		{"too many", Split{Parts: manyParts(5000), Part: "0"}, "parts cannot be divided by: shuffle: weights: must be at most 4096, got 5000"},
		{"many names", Split{Parts: manyParts(14), Part: "x"}, `part must be one of 0, 1, 10, 11, 12, 13, 2, 3, 4, 5 and 4 more, got "x"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := NewPart(c.split)
			if got := option.Spelled(err, option.Argument); p != nil || got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if wrong := (*Error)(nil); !errors.As(err, &wrong) {
				t.Errorf("%T is no problem of a field", err)
			}
		})
	}
}

func manyParts(n int) map[string]float64 {
	m := map[string]float64{}
	for i := range n {
		m[fmt.Sprint(i)] = 1
	}
	return m
}

// The canonical text tells parts of other rows apart, and weights that divide alike have one text.
func TestPartText(t *testing.T) {
	text := func(s Split) string { return partOf(t, s).Text() }
	two := map[string]float64{"train": 9, "val": 1}
	if got, want := text(Split{Parts: two, Part: "val", Subsample: 0.5, Key: "user", Seed: 3}),
		`part "val" of "train" 943718 "val" 104858 sample 524288 by "user" seed 3`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if a, b := text(Split{Parts: two, Part: "val"}), text(Split{Parts: map[string]float64{"train": 0.9, "val": 0.1}, Part: "val"}); a != b {
		t.Errorf("%q and %q are one division", a, b)
	}
	for _, all := range []Split{{}, {Subsample: 1}} {
		if p := partOf(t, all); !p.All() || p.Text() != "" {
			t.Errorf("%+v is %q", all, p.Text())
		}
	}
	seen := map[string]Split{}
	for _, s := range []Split{
		{Parts: two, Part: "val"},
		{Parts: two, Part: "train"},
		{Parts: two, Part: "val", Seed: 1},
		{Parts: two, Part: "val", Key: "user"},
		{Parts: two, Part: "val", Subsample: 0.1},
		{Parts: map[string]float64{"train": 8, "val": 2}, Part: "val"},
		{Subsample: 0.1},
		{Subsample: 0.2},
	} {
		if other, twice := seen[text(s)]; twice {
			t.Errorf("%+v and %+v are both %q", s, other, text(s))
		}
		seen[text(s)] = s
	}
	if strings.Contains(text(Split{Subsample: 0.1}), "of") {
		t.Errorf("a sample alone is %q", text(Split{Subsample: 0.1}))
	}
}

// A Marker keeps all rows where the part is all of them.
func TestAllRowsStay(t *testing.T) {
	m, keep := partOf(t, Split{}).Marker(), allRows(100)
	m.ByRow(Slice{Rows: 100, Hi: 100}, keep)
	if countBits(keep) != 100 || m.Count(Slice{Rows: 100, Lo: 20, Hi: 50}) != 30 {
		t.Errorf("%d rows are kept, %d counted", countBits(keep), m.Count(Slice{Rows: 100, Lo: 20, Hi: 50}))
	}
}
