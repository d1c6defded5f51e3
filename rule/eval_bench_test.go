package rule

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/shardfeed/shardfeed/column"
)

// BenchmarkEvaluate measures a block of 100,000 rows, which fit the caches as a decoded unit's rule
// columns do; ns/row is of the whole filter.
func BenchmarkEvaluate(b *testing.B) {
	const rows = 100_000
	columns := benchColumns(rows)
	for _, c := range []struct{ name, text string }{
		{"int64", "id < 500000"},
		{"int64 in list", "id in (1, 70, 5000, 900000)"},
		{"int64 in long list", "id in (9, 70, 333, 5000, 44444, 123456, 222222, 333333, 555555, 777777, 900000)"},
		{"float64", "score >= 0.5"},
		{"float64 with nulls", "maybe >= 0.5"},
		{"two columns", "score >= 0.5 and id < 500000"},
		{"two columns, few rows", "id < 1000 and score >= 0.5"},
		{"dictionary", "lang in ('en', 'de')"},
		{"string", "url = 'https://example.org/500'"},
		{"string order", "url < 'https://example.org/5'"},
		{"string in list", "url in ('https://example.org/500', 'https://example.org/7', 'x')"},
		{"prefix of string", "url like 'https://example.org/50%'"},
		{"string contains", "contains(url, '00')"},
		{"pattern of string", "url like '%example%/5_'"},
		{"string in lower case", "lower(url) = 'https://example.org/500'"},
		{"dictionary in lower case", "lower(lang) in ('en', 'de')"},
		{"float64 is nan", "maybe is nan"},
		{"decimal", "price > 12.5"},
		{"len of list", "len(tokens) between 16 and 4096"},
		{"len of string", "len(url) > 22"},
		{"hash of int64", "hash(id, 7) % 10 < 3"},
	} {
		b.Run(c.name, func(b *testing.B) {
			e, err := Parse(c.text)
			if err != nil {
				b.Fatal(err)
			}
			f, err := e.Bind(benchSchema(columns), nil)
			if err != nil {
				b.Fatal(err)
			}
			var inputs []Column
			for _, in := range f.Inputs() {
				inputs = append(inputs, columns[in.Path[0]])
			}
			ev := f.NewEvaluator()
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := ev.Evaluate(rows, inputs); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
		})
	}
}

func benchSchema(columns map[string]Column) *column.Schema {
	s := &column.Schema{}
	for _, c := range columns {
		s.Fields = append(s.Fields, c.Values.Field)
	}
	return s
}

// benchColumns draws random columns, so that no branch can be foretold.
func benchColumns(rows int) map[string]Column {
	r := rand.New(rand.NewPCG(1, 2))
	id := &column.Array{Field: column.FieldOf[int64]("id"), Len: rows}
	score := &column.Array{Field: column.FieldOf[float64]("score"), Len: rows}
	price := &column.Array{Field: &column.Field{Name: "price", Kind: column.Fixed, Type: column.TypeDecimal, Width: 16, Precision: 38, Scale: 2}, Len: rows}
	url := &column.Array{Field: &column.Field{Name: "url", Kind: column.Binary, Type: column.TypeString}, Len: rows, Offsets: []int32{0}}
	tokens := &column.Array{
		Field: &column.Field{Name: "tokens", Kind: column.List, Children: []*column.Field{column.FieldOf[int32]("item")}}, Len: rows, Offsets: []int32{0},
	}
	lang := &column.Array{Field: &column.Field{Name: "lang", Kind: column.Binary, Type: column.TypeString}, Offsets: []int32{0}}
	for _, l := range []string{"en", "de", "fr", "ko", "ja", "zh"} {
		lang.Data = append(lang.Data, l...)
		lang.Offsets, lang.Len = append(lang.Offsets, int32(len(lang.Data))), lang.Len+1
	}
	var codes []byte
	for range rows {
		n := r.Int64N(1_000_000)
		id.Data = binary.LittleEndian.AppendUint64(id.Data, uint64(n))
		score.Data = binary.LittleEndian.AppendUint64(score.Data, math.Float64bits(r.Float64()))
		price.Data = append(binary.LittleEndian.AppendUint64(price.Data, uint64(r.Int64N(3000))), make([]byte, 8)...)
		url.Data = append(url.Data, "https://example.org/"...)
		url.Data = append(url.Data, strconv.FormatInt(n%1000, 10)...)
		url.Offsets = append(url.Offsets, int32(len(url.Data)))
		tokens.Offsets = append(tokens.Offsets, tokens.Offsets[len(tokens.Offsets)-1]+int32(r.IntN(100)))
		codes = append(codes, byte(r.IntN(lang.Len)))
	}
	maybe := *score
	maybe.Field = column.FieldOf[float64]("maybe")
	maybe.Valid = bitmap(rows, func(int) bool { return r.IntN(10) > 0 })
	maybe.Nulls = rows / 10
	return map[string]Column{
		"id": {Values: id}, "score": {Values: score}, "maybe": {Values: &maybe}, "price": {Values: price}, "url": {Values: url},
		"tokens": {Values: tokens}, "lang": {Values: lang, Codes: codes, CodeWidth: 1},
	}
}
