package rule

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/shuffle"
)

// listManifest has shards of the given rows per row group.
func listManifest(shards ...[]int64) *shuffle.Manifest {
	m := &shuffle.Manifest{Base: "s3://bucket/table/"}
	for i, groups := range shards {
		m.Shards = append(m.Shards, shuffle.Shard{Path: fmt.Sprintf("part-%03d.parquet", i), Size: int64(1000 + i), Version: fmt.Sprintf("v%d", i)})
		for g, rows := range groups {
			m.Groups = append(m.Groups, shuffle.Group{Shard: int32(i), Index: int32(g), Rows: rows})
		}
	}
	return m
}

// A keeper says which rows of a group are kept.
type keeper func(group int, row int64) bool

// rowsFile is a rows file of the rows that keep says.
func rowsFile(t testing.TB, m *shuffle.Manifest, keep keeper) []byte {
	t.Helper()
	var b bytes.Buffer
	err := WriteRowList(&b, m, func(group int, bits []uint64) error {
		for row := range m.Groups[group].Rows {
			if keep(group, row) {
				bits[row/64] |= 1 << (row % 64)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func listOf(t testing.TB, m *shuffle.Manifest, keep keeper) *RowList {
	t.Helper()
	l, err := ParseRowList(rowsFile(t, m, keep))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func matched(t testing.TB, l *RowList, m *shuffle.Manifest, newRows NewRows) *KeptRows {
	t.Helper()
	k, err := l.Match(m, newRows, nil)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// patterns of rows, one for each form and the edges between them.
func patterns(r *rand.Rand) map[string]keeper {
	random := func(p float64) keeper {
		seed := r.Uint64()
		return func(group int, row int64) bool {
			return rand.New(rand.NewPCG(seed, uint64(group)<<40+uint64(row))).Float64() < p
		}
	}
	return map[string]keeper{
		"none":      func(int, int64) bool { return false },
		"all":       func(int, int64) bool { return true },
		"half":      random(0.5),
		"few":       random(0.02),
		"most":      random(0.97),
		"runs":      func(_ int, row int64) bool { return row/300%3 == 1 },
		"first":     func(_ int, row int64) bool { return row == 0 },
		"but first": func(_ int, row int64) bool { return row > 0 },
		"every 8th": func(_ int, row int64) bool { return row%8 == 7 },
		"front":     func(_ int, row int64) bool { return row < 130 },
		"by group":  func(group int, _ int64) bool { return group%2 == 0 },
	}
}

// Any rows of a group are read as they were written, by bits and by count.
func TestRowsFile(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	m := listManifest([]int64{1, 63, 64, 65}, nil, []int64{0, 1000}, []int64{5000, 7, 8})
	seen := map[form]bool{}
	for name, keep := range patterns(r) {
		t.Run(name, func(t *testing.T) {
			l := listOf(t, m, keep)
			k := matched(t, l, m, "")
			for g, group := range m.Groups {
				seen[k.groups[g].form] = true
				checkRows(t, k, g, 0, group.Rows, keep)
				for range 20 {
					lo := r.Int64N(group.Rows + 1)
					checkRows(t, k, g, lo, lo+r.Int64N(group.Rows-lo+1), keep)
				}
			}
		})
	}
	for f := formNone; f <= formRuns; f++ {
		if !seen[f] {
			t.Errorf("form %d is never written", f)
		}
	}
}

func checkRows(t *testing.T, k *KeptRows, g int, lo, hi int64, keep keeper) {
	t.Helper()
	got, before := allRows(hi-lo), allRows(hi-lo)
	for i := range before {
		before[i] &= 0xfedcba9876543210 // bits that are cleared stay so
		got[i] = before[i]
	}
	k.And(g, lo, hi, got)
	var n int64
	for row := lo; row < hi; row++ {
		i := row - lo
		want := before[i/64]>>(i%64)&1 == 1 && keep(g, row)
		if keep(g, row) {
			n++
		}
		if got[i/64]>>(i%64)&1 == 1 != want {
			t.Fatalf("group %d, rows %d..%d, form %d: row %d is kept: %v", g, lo, hi, k.groups[g].form, row, !want)
		}
	}
	if c := k.Count(g, lo, hi); c != n {
		t.Fatalf("group %d, rows %d..%d, form %d: %d rows are counted of %d", g, lo, hi, k.groups[g].form, c, n)
	}
}

// The smallest form is chosen, and is as small as planned.
func TestRowsFileIsSmall(t *testing.T) {
	const rows = 1 << 20
	m := listManifest([]int64{rows})
	r := rand.New(rand.NewPCG(7, 8))
	random := func(p float64) keeper { return func(int, int64) bool { return r.Float64() < p } }
	on := false
	clustered := func(int, int64) bool { // a tenth, in runs of 100 in the mean
		if on && r.Float64() < 0.01 || !on && r.Float64() < 0.01/9 {
			on = !on
		}
		return on
	}
	for _, c := range []struct {
		name string
		keep keeper
		form form
		most float64 // bits a row
	}{
		{"half at random", random(0.5), formBitmap, 1.001},
		{"a tenth at random", random(0.1), formKept, 0.81},
		{"a hundredth at random", random(0.01), formKept, 0.11},
		{"all but a tenth at random", random(0.9), formLeft, 0.81},
		{"a tenth in runs of 100", clustered, formRuns, 0.03},
		{"none", func(int, int64) bool { return false }, formNone, 0.001},
		{"all", func(int, int64) bool { return true }, formAll, 0.001},
	} {
		t.Run(c.name, func(t *testing.T) {
			data := rowsFile(t, m, c.keep)
			l, err := ParseRowList(data)
			if err != nil {
				t.Fatal(err)
			}
			bits := 8 * float64(len(data)) / rows
			t.Logf("%.3f bits a row", bits)
			if l.groups[0].form != c.form || bits > c.most {
				t.Errorf("form %d of %.3f bits a row, want form %d of at most %.3f", l.groups[0].form, bits, c.form, c.most)
			}
		})
	}
}

// Bits that a writer set beyond the rows of a group do not count.
func TestBitsBeyondTheRows(t *testing.T) {
	m := listManifest([]int64{9, 64, 70})
	var b bytes.Buffer
	words := []uint64{^uint64(0), ^uint64(1), 0x5555555555555555}
	if err := WriteRowList(&b, m, func(group int, bits []uint64) error {
		for i := range bits {
			bits[i] = words[group]
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	l, err := ParseRowList(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	k := matched(t, l, m, "")
	for g, want := range []int64{9, 63, 35} {
		if got := k.Count(g, 0, m.Groups[g].Rows); got != want {
			t.Errorf("group %d: %d rows, want %d", g, got, want)
		}
	}
}

// The bytes in clear, for a reimplementation.
func TestGoldenRowsFile(t *testing.T) {
	m := listManifest([]int64{9, 20})
	m.Base = "/d/"
	data := rowsFile(t, m, func(group int, row int64) bool { return group == 0 && row%2 == 0 || group == 1 && row >= 4 && row < 17 })
	want := "shardfeed rows 1\n" + "\x03/d/" + "\x01" + "\x10part-000.parquet" + "\xe8\x07" + "\x02v0" + "\x02" +
		"\x09\x02\x02\x55\x01" + // a bitmap
		"\x14\x05\x02\x04\x0d" // runs
	sum := sha256.Sum256([]byte(want))
	if want += string(sum[:]); string(data) != want {
		t.Errorf("%q, want %q", data, want)
	}
	if l := listOf(t, m, func(int, int64) bool { return true }); len(l.Digest()) != 64 {
		t.Errorf("digest %q", l.Digest())
	}
}

// Data that moved, or of which more or fewer shards are read, is found; other data is refused by
// name.
func TestMatch(t *testing.T) {
	keep := func(_ int, row int64) bool { return row%3 == 0 }
	listed := func() *shuffle.Manifest { return listManifest([]int64{100, 50}, []int64{30}, nil, []int64{70}) }
	l := listOf(t, listed(), keep)
	more := func(m *shuffle.Manifest) {
		for i := range 12 {
			m.Shards = append(m.Shards, shuffle.Shard{Path: fmt.Sprintf("part-1%02d.parquet", i), Size: 5})
			m.Groups = append(m.Groups, shuffle.Group{Shard: int32(4 + i), Rows: 10})
		}
	}
	for _, c := range []struct {
		name    string
		change  func(m *shuffle.Manifest)
		newRows NewRows
		kept    int64  // -1: refused
		says    string // by the refusal
	}{
		{"the same", func(*shuffle.Manifest) {}, "", 34 + 17 + 10 + 24, ""},
		{"moved", func(m *shuffle.Manifest) { m.Base = "/elsewhere/" }, "", 85, ""},
		{"from a folder above", func(m *shuffle.Manifest) {
			m.Base = "s3://bucket/"
			for i := range m.Shards {
				m.Shards[i].Path = "table/" + m.Shards[i].Path
			}
		}, "", 85, ""},
		{"fewer shards", func(m *shuffle.Manifest) { m.Shards, m.Groups = m.Shards[:2], m.Groups[:3] }, "", 61, ""},
		{"more shards", more, "", -1, "Rows does not know 12 of 16 shards: part-100.parquet, part-101.parquet, part-102.parquet, part-103.parquet, " +
			"part-104.parquet, part-105.parquet, part-106.parquet, part-107.parquet, part-108.parquet, part-109.parquet and 2 more; " +
			"set RowsNew to keep or drop to read their rows or not, or list them too"},
		{"more shards, refused by name", more, RefuseNew, -1, "does not know 12 of 16 shards"},
		{"more shards are kept", more, KeepNew, 85 + 120, ""},
		{"more shards are dropped", more, DropNew, 85, ""},
		{
			"a version", func(m *shuffle.Manifest) { m.Shards[1].Version = "new" }, KeepNew, -1,
			"Rows is of other data: changed part-001.parquet: version v1, now new; make it again from the shards as they are",
		},
		{"a size", func(m *shuffle.Manifest) { m.Shards[1].Size = 7 }, "", -1, "changed part-001.parquet: 1001 bytes, now 7"},
		{"rows of a group", func(m *shuffle.Manifest) { m.Groups[1].Rows = 51 }, "", -1, "changed part-000.parquet: other rows per row group"},
		{"row groups", func(m *shuffle.Manifest) { m.Groups = m.Groups[:3] }, "", -1, "changed part-003.parquet: 1 row groups, now 0"},
		{"other data", func(m *shuffle.Manifest) {
			for i := range m.Shards {
				m.Shards[i].Path = "x" + m.Shards[i].Path
			}
		}, "", -1, "does not know 4 of 4 shards"},
		{"an unknown word", func(*shuffle.Manifest) {}, "maybe", -1, `RowsNew must be error, keep or drop, got "maybe"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := listed()
			c.change(m)
			k, err := l.Match(m, c.newRows, nil)
			if c.kept < 0 {
				if wrong := (*Error)(nil); !errors.As(err, &wrong) || !strings.Contains(err.Error(), c.says) {
					t.Errorf("got  %v\nwant %s", err, c.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var kept int64
			for g, group := range m.Groups {
				bits := allRows(group.Rows)
				k.And(g, 0, group.Rows, bits)
				if kept += countBits(bits); countBits(bits) != k.Count(g, 0, group.Rows) {
					t.Errorf("group %d: %d rows, %d counted", g, countBits(bits), k.Count(g, 0, group.Rows))
				}
			}
			if kept != c.kept {
				t.Errorf("%d rows are kept, want %d", kept, c.kept)
			}
		})
	}
}

// The text names the list and what becomes of new shards; fields of the message are spelled.
func TestKeptRowsText(t *testing.T) {
	m := listManifest([]int64{10})
	l := listOf(t, m, func(_ int, row int64) bool { return row == 3 })
	if a, b := matched(t, l, m, "").Text(), matched(t, l, m, KeepNew).Text(); a != "rows "+l.Digest()+" new error" || a == b {
		t.Errorf("%q and %q", a, b)
	}
	other := listOf(t, m, func(_ int, row int64) bool { return row == 4 })
	if matched(t, other, m, "").Text() == matched(t, l, m, "").Text() {
		t.Error("two lists have one text")
	}
	_, err := l.Match(listManifest([]int64{10}, []int64{5}), "", nil)
	if got := option.Spelled(err, option.Argument); !strings.Contains(got, "set rows_new to keep") {
		t.Errorf("%s", got)
	}
}
