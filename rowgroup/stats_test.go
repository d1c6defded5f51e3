package rowgroup

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
	"github.com/shardfeed/shardfeed/rule"
)

// ruleValue is value i of a column without items, ok false when it is null.
func ruleValue(c *rule.Column, i int) (v []byte, ok bool) {
	if shown(c, i, false) == "null" {
		return nil, false
	}
	switch {
	case c.Constant:
		i = 0
	case c.Codes != nil:
		code := 0
		for k := range c.CodeWidth {
			code |= int(c.Codes[i*c.CodeWidth+k]) << (8 * k)
		}
		i = code
	}
	return arrayValue(c.Values, i), true
}

func arrayValue(a *column.Array, i int) []byte {
	if a.Field.Kind == column.Binary {
		return a.Data[a.Offsets[i]:a.Offsets[i+1]]
	}
	return a.Data[i*a.Field.Width : (i+1)*a.Field.Width]
}

// compareValues orders two values of a field.
func compareValues(f *column.Field, a, b []byte) int {
	number := func(v []byte) uint64 { return binary.LittleEndian.Uint64(append(slices.Clone(v), make([]byte, 8)...)) }
	switch {
	case f.Kind == column.Binary, f.Type == column.TypeUUID, f.Type == column.TypeFixedBinary:
		return bytes.Compare(a, b)
	case f.Type == column.TypeFloat64:
		return cmp.Compare(math.Float64frombits(number(a)), math.Float64frombits(number(b)))
	case f.Type == column.TypeFloat32:
		return cmp.Compare(math.Float32frombits(uint32(number(a))), math.Float32frombits(uint32(number(b))))
	case f.Type == column.TypeFloat16: // sign and size
		half := func(v []byte) int {
			n := int(number(v))
			if n > math.MaxInt16 {
				return -(n & math.MaxInt16)
			}
			return n
		}
		return cmp.Compare(half(a), half(b))
	case block.IsUnsigned(f.Type), f.Type == column.TypeBool:
		return cmp.Compare(number(a), number(b))
	case f.Type == column.TypeDecimal:
		return littleEndian(a).Cmp(littleEndian(b))
	}
	shift := 64 - 8*f.Width
	return cmp.Compare(int64(number(a)<<shift)>>shift, int64(number(b)<<shift)>>shift)
}

// factsKnown counts what statistics say, so that a test sees that they say something.
type factsKnown struct{ nulls, bounds, distinct, bloom, pages, none, all int }

// checkFacts holds what is said of a column in rows lo to hi against its values.
func checkFacts(t *testing.T, where string, k *rule.ColumnStats, c *rule.Column, f *column.Field, lo, hi int, known *factsKnown) {
	t.Helper()
	nulls, distinct := 0, map[string]bool{}
	if k.Distinct != nil {
		known.distinct++
		for i := range k.Distinct.Len {
			distinct[string(arrayValue(k.Distinct, i))] = true
		}
	}
	if k.Min != nil || k.Max != nil {
		known.bounds++
	}
	if k.MayContain != nil {
		known.bloom++
	}
	for i := lo; i < hi; i++ {
		v, ok := ruleValue(c, i)
		if !ok {
			nulls++
			continue
		}
		if isNaNValue(f.Type, v) {
			continue // no bound holds it, and rules know that
		}
		if k.Min != nil && compareValues(f, v, k.Min) < 0 || k.Max != nil && compareValues(f, v, k.Max) > 0 {
			t.Fatalf("%s: row %d has %x, said to be from %x to %x", where, i, v, k.Min, k.Max)
		}
		if k.Distinct != nil && !distinct[string(v)] {
			t.Fatalf("%s: row %d has %x, which is not among the %d said to be all", where, i, v, k.Distinct.Len)
		}
		if k.MayContain != nil && !k.MayContain(v) {
			t.Fatalf("%s: row %d has %x, which is said to be in no row", where, i, v)
		}
	}
	if k.NullsKnown {
		known.nulls++
		if k.Nulls == 0 && nulls > 0 && k.Rows > 0 || k.Nulls >= k.Rows && nulls < hi-lo {
			t.Fatalf("%s: %d nulls in %d rows, said to be %d of %d", where, nulls, hi-lo, k.Nulls, k.Rows)
		}
	}
}

// leafPaths are the columns of single values of a schema, and those in structs.
func leafPaths(fields []*column.Field, above string) (all []string) {
	for _, f := range fields {
		switch path := strings.TrimPrefix(above+"."+f.Name, "."); f.Kind {
		case column.Struct:
			all = append(append(all, path), leafPaths(f.Children, path)...)
		default:
			all = append(all, path)
		}
	}
	return all
}

// checkStats holds all that is said of every group and page of a data set against its values, and
// what filters make of it against their evaluation.
func checkStats(t *testing.T, m *Reader) (known factsKnown) {
	t.Helper()
	ctx, rng := context.Background(), rand.New(rand.NewPCG(uint64(len(m.groups)), 5))
	d := newDecoder(&mem.Pool{}, m.replace)
	defer d.Close()
	for s := range m.Shards() {
		stats, err := m.ShardStats(ctx, s)
		if err != nil {
			t.Fatal(err)
		}
		for g := range m.first[s+1] - m.first[s] {
			rows := int(m.groups[m.first[s]+g].Rows)
			raw, err := m.FetchRule(ctx, Rows{Shard: s, RowGroup: g, Hi: int64(rows)})
			if err != nil {
				t.Fatal(err)
			}
			columns, err := d.DecodeRule(raw)
			if err != nil {
				t.Fatal(err)
			}
			ranges := []RowRange{{0, int64(rows), m.PartitionStats(s)}, {0, int64(rows), stats.Group(g)}}
			for range 2 {
				pages, err := stats.Pages(ctx, g)
				if err != nil {
					t.Fatal(err)
				}
				for i, p := range pages {
					if i == 0 && p.Lo != 0 || i > 0 && p.Lo != pages[i-1].Hi || p.Lo >= p.Hi || i == len(pages)-1 && p.Hi != int64(rows) {
						t.Fatalf("shard %d, group %d: range %d is %d to %d", s, g, i, p.Lo, p.Hi)
					}
				}
				known.pages += len(pages)
				ranges = append(ranges, pages...)
				if err := stats.Deepen(ctx, g); err != nil {
					t.Fatal(err)
				}
				ranges = append(ranges, RowRange{0, int64(rows), stats.Group(g)})
			}
			for i := range columns {
				f := columns[i].Values.Field
				if n := m.rulesOf(s)[i].statLeaf(); n != nil && n.Numbers == nil { // also where a dictionary says more
					may, err := stats.mayContain(ctx, g, n)
					if err != nil {
						t.Fatal(err)
					}
					ranges = append(ranges, RowRange{0, int64(rows), statsOf{i, rule.ColumnStats{MayContain: may}}})
				}
				dict, err := stats.Dictionary(ctx, g, i)
				if deep := stats.Group(g).Column(i).Distinct; err != nil || dict != nil && !reflect.DeepEqual(dict, deep) ||
					dict == nil && deep != nil && m.PartitionStats(s).Column(i).Distinct == nil {
					t.Fatalf("shard %d, group %d, column %q: dictionary %v, Deepen has %v, %v", s, g, m.rulePath(i), dict, deep, err)
				}
				for _, r := range ranges {
					k := r.Stats.Column(i)
					if (k.Min != nil || k.Distinct != nil || k.MayContain != nil) && f.Kind != column.Fixed && f.Kind != column.Binary {
						t.Fatalf("%q is %v and has bounds", f.Name, f)
					}
					checkFacts(t, fmt.Sprintf("shard %d, group %d, rows %d-%d, column %q", s, g, r.Lo, r.Hi, m.rulePath(i)), &k, &columns[i], f, int(r.Lo), int(r.Hi), &known)
				}
			}
			for range 30 {
				checkPrune(t, rng, m, columns, rows, ranges, &known)
			}
			raw.Release()
		}
	}
	return known
}

// ruleNames are the names on the way to a rule column.
func (m *Reader) ruleNames(i int) []string {
	if m.rules[i].partition != nil {
		return []string{m.rules[i].partition.Field.Name}
	}
	f := m.rules[i].tree.Field
	names := []string{f.Name}
	for range m.rules[i].depth {
		f = f.Children[0]
		names = append(names, f.Name)
	}
	return names
}

func (m *Reader) rulePath(i int) string { return strings.Join(m.ruleNames(i), ".") }

// literal is a value in the language of filters, "" for types whose literals are not simple.
func literal(f *column.Field, v []byte) string {
	number := binary.LittleEndian.Uint64(append(slices.Clone(v), make([]byte, 8)...))
	switch {
	case f.Type == column.TypeBool:
		return strconv.FormatBool(v[0] != 0)
	case f.Type == column.TypeString && utf8.Valid(v):
		return "'" + strings.ReplaceAll(string(v), "'", "''") + "'"
	case f.Type == column.TypeBinary && f.Kind == column.Binary:
		return fmt.Sprintf("x'%x'", v)
	case f.Type == column.TypeFloat64:
		return strconv.FormatFloat(math.Float64frombits(number), 'g', -1, 64)
	case f.Type == column.TypeFloat32:
		return strconv.FormatFloat(float64(math.Float32frombits(uint32(number))), 'g', -1, 32)
	case block.IsUnsigned(f.Type):
		return strconv.FormatUint(number, 10)
	case block.IsInt(f.Type):
		shift := 64 - 8*f.Width
		return strconv.FormatInt(int64(number<<shift)>>shift, 10)
	}
	return ""
}

// checkPrune holds what a random filter makes of statistics against the rows that it keeps.
func checkPrune(t *testing.T, rng *rand.Rand, m *Reader, columns []rule.Column, rows int, ranges []RowRange, known *factsKnown) {
	t.Helper()
	var tests []string
	for range 1 + rng.IntN(3) {
		i := rng.IntN(len(columns))
		if slices.Contains(m.ruleNames(i), "") {
			continue // a filter cannot name it
		}
		var names []string
		for _, n := range m.ruleNames(i) {
			names = append(names, `"`+strings.ReplaceAll(n, `"`, `""`)+`"`)
		}
		path := strings.Join(names, ".")
		text := path + []string{" is null", " is not null"}[rng.IntN(2)]
		if rows > 0 && rng.IntN(5) > 0 {
			if v, ok := ruleValue(&columns[i], rng.IntN(rows)); ok && columns[i].Values.Field.Kind <= column.Binary {
				if l := strings.ToLower(strings.ReplaceAll(literal(columns[i].Values.Field, v), "+Inf", "inf")); l != "" && columns[i].Values.Field.Type != column.TypeBool && columns[i].Values.Field.Type != column.TypeString {
					text = path + []string{" = ", " != ", " < ", " >= "}[rng.IntN(4)] + l
				} else if l != "" {
					text = path + []string{" = ", " != "}[rng.IntN(2)] + literal(columns[i].Values.Field, v)
				}
			}
		}
		if rng.IntN(4) == 0 {
			text = "not " + text
		}
		tests = append(tests, text)
	}
	if len(tests) == 0 {
		return
	}
	text := strings.Join(tests, []string{" and ", " or "}[rng.IntN(2)])
	e, err := rule.Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	filter, err := e.Bind(m.RuleSchema(), nil)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	var inputs []rule.Column
	var at []int
	for _, in := range filter.Inputs() {
		for i := range columns {
			if m.rulePath(i) == strings.Join(in.Path, ".") {
				inputs, at = append(inputs, columns[i]), append(at, i)
				break
			}
		}
	}
	kept, _, err := filter.NewEvaluator().Evaluate(rows, inputs)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	for _, r := range ranges {
		n := 0
		for i := r.Lo; i < r.Hi; i++ {
			n += int(kept[i/64] >> (i % 64) & 1)
		}
		switch v := filter.Prune(statsAt{r.Stats, at}); {
		case v == rule.None && n > 0, v == rule.All && int64(n) < r.Hi-r.Lo:
			t.Fatalf("%s: %v of rows %d to %d stay, by what is known, and %d do", text, v, r.Lo, r.Hi, n)
		case v == rule.None:
			known.none++
		case v == rule.All:
			known.all++
		}
	}
}

// statsOf is statistics of one column.
type statsOf struct {
	i int
	k rule.ColumnStats
}

func (s statsOf) Column(i int) (k rule.ColumnStats) {
	if i == s.i {
		k = s.k
	}
	return k
}

// statsAt is statistics of some columns.
type statsAt struct {
	of rule.Stats
	at []int
}

func (s statsAt) Column(i int) rule.ColumnStats { return s.of.Column(s.at[i]) }

// All that statistics say is true, of every form of column that parquet-go writes.
func TestStatsAreTrue(t *testing.T) {
	rows := randomRows(21, 700)
	for i := range rows {
		rows[i].I64, rows[i].OptI32 = int64(i), nil
		if i >= 300 && i < 500 {
			rows[i].F64, rows[i].DictText = nil, nil
		}
	}
	blooms := parquet.BloomFilters(
		parquet.SplitBlockFilter(10, "i32"), parquet.SplitBlockFilter(10, "i64"), parquet.SplitBlockFilter(10, "f32"), parquet.SplitBlockFilter(10, "text"),
		parquet.SplitBlockFilter(10, "opt_text"), parquet.SplitBlockFilter(10, "uuid"), parquet.SplitBlockFilter(10, "i8"), parquet.SplitBlockFilter(10, "u16"),
	)
	for name, o := range map[string][]parquet.WriterOption{
		"plain":        nil,
		"statistics":   {parquet.DataPageStatistics(true)},
		"cut bounds":   {parquet.ColumnIndexSizeLimit(func([]string) int { return 4 })},
		"bloom filter": {blooms},
	} {
		t.Run(name, func(t *testing.T) {
			file := writeRows(t, [][]everyRow{rows[:500], rows[500:]}, append(o, parquet.PageBufferSize(300))...)
			all := openBytes(t, Options{}, map[string][]byte{"a.parquet": file})
			m := openBytes(t, Options{RuleColumns: ruleColumns(leafPaths(all.Schema().Fields, ""), true)}, map[string][]byte{"a.parquet": file})
			known := checkStats(t, m)
			t.Logf("%+v", known)
			if known.nulls == 0 || known.bounds == 0 || known.distinct == 0 || known.pages == 0 || known.none == 0 || known.all == 0 || (known.bloom == 0) != (name != "bloom filter") {
				t.Errorf("little is known: %+v", known)
			}
		})
	}
}

// littleEndian is a signed number of any width.
func littleEndian(v []byte) *big.Int {
	b := slices.Clone(v)
	slices.Reverse(b)
	n := new(big.Int).SetBytes(b)
	if b[0]&0x80 != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return n
}

func isNaNValue(t column.Type, v []byte) bool {
	switch t {
	case column.TypeFloat16:
		return binary.LittleEndian.Uint16(v)&0x7fff > 0x7c00
	case column.TypeFloat32:
		return math.IsNaN(float64(math.Float32frombits(binary.LittleEndian.Uint32(v))))
	case column.TypeFloat64:
		return math.IsNaN(math.Float64frombits(binary.LittleEndian.Uint64(v)))
	}
	return false
}
