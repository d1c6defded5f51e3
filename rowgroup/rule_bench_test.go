package rowgroup

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/parquet-go/parquet-go"
)

type ruleRow struct {
	ID     int64   `parquet:"id,plain"`
	Score  float64 `parquet:"score,plain"`
	Maybe  *int64  `parquet:"maybe,optional,plain"`
	Lang   string  `parquet:"lang,dict"`
	Title  string  `parquet:"title,plain"`
	Tokens []int32 `parquet:"tokens,list"`
}

// BenchmarkDecodeRule decodes the columns of a rule alone, as the counting pass does.
func BenchmarkDecodeRule(b *testing.B) {
	const n = 100_000
	r := rand.New(rand.NewPCG(1, 2))
	rows := make([]ruleRow, n)
	for i := range rows {
		rows[i] = ruleRow{
			ID: int64(i), Score: r.Float64(), Maybe: some(r, r.Int64()), Lang: fmt.Sprint("language ", r.IntN(100)),
			Title: fmt.Sprint("title ", r.Uint64()), Tokens: make([]int32, 16+r.IntN(200)),
		}
	}
	for version := 1; version <= 2; version++ {
		file := writeRows(b, [][]ruleRow{rows}, parquet.Compression(&parquet.Snappy), parquet.DataPageVersion(version))
		for _, path := range []string{"id", "score", "maybe", "lang", "title", "tokens"} {
			b.Run(fmt.Sprintf("v%d/%s", version, path), func(b *testing.B) {
				m, d := openDecoder(b, file, Options{RuleColumns: ruleColumns([]string{path}, true)})
				raw, err := m.FetchRule(context.Background(), Rows{Hi: n})
				if err != nil {
					b.Fatal(err)
				}
				defer raw.Release()
				b.ReportAllocs()
				for b.Loop() {
					if _, err := d.DecodeRule(raw); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/row")
			})
		}
	}
}
