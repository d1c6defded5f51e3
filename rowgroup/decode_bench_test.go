package rowgroup

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

type mixedRow struct {
	ID        int64     `parquet:"id,plain"`
	Label     *int32    `parquet:"label,optional,dict"`
	Price     *float64  `parquet:"price,optional,plain"`
	Title     *string   `parquet:"title,optional,plain"`
	Category  string    `parquet:"category,dict"`
	Tokens    []int32   `parquet:"tokens,list"`
	Embedding []float32 `parquet:"embedding,list"`
}

type tabularRow struct {
	A int64    `parquet:"a,dict"`
	B *int64   `parquet:"b,optional,dict"`
	C float32  `parquet:"c,plain"`
	D *float64 `parquet:"d,optional,plain"`
	E string   `parquet:"e,dict"`
}

type tokensRow struct {
	ID     int64   `parquet:"id,delta"`
	Tokens []int32 `parquet:"tokens,list"`
}

type imageRow struct {
	ID    string `parquet:"id,plain"`
	Image []byte `parquet:"image,plain"`
}

// BenchmarkDecode decodes one row group again and again; MB/s are of the uncompressed pages.
func BenchmarkDecode(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	snappy := []parquet.WriterOption{parquet.Compression(&parquet.Snappy), parquet.DataPageVersion(1)}
	b.Run("mixed", func(b *testing.B) {
		benchDecode(b, 20_000, snappy, func(i int) mixedRow {
			m := mixedRow{
				ID: int64(i), Label: some(r, r.Int32N(1000)), Price: some(r, r.Float64()), Category: fmt.Sprint("category ", r.IntN(1000)),
				Title: some(r, strings.Repeat("title ", 5+r.IntN(8))), Embedding: make([]float32, 128),
			}
			for range 16 + r.IntN(49) {
				m.Tokens = append(m.Tokens, r.Int32N(32_000))
			}
			for k := range m.Embedding {
				m.Embedding[k] = r.Float32()
			}
			return m
		})
	})
	b.Run("tabular", func(b *testing.B) {
		benchDecode(b, 50_000, snappy, func(i int) tabularRow {
			return tabularRow{int64(r.IntN(5000)), some(r, int64(r.IntN(100))), r.Float32(), some(r, r.Float64()), fmt.Sprint("city ", r.IntN(200))}
		})
	})
	b.Run("tokens", func(b *testing.B) {
		benchDecode(b, 2000, []parquet.WriterOption{parquet.Compression(&parquet.Zstd)}, func(i int) tokensRow {
			t := tokensRow{ID: int64(i), Tokens: make([]int32, 512+r.IntN(1500))}
			for k := range t.Tokens {
				t.Tokens[k] = r.Int32N(1 + r.Int32N(50_000))
			}
			return t
		})
	})
	b.Run("images", func(b *testing.B) {
		noise := make([]byte, 40_000)
		for i := range noise {
			noise[i] = byte(r.Uint32())
		}
		benchDecode(b, 2000, snappy, func(i int) imageRow {
			at := r.IntN(20_000)
			return imageRow{fmt.Sprint(i), noise[at : at+10_000+r.IntN(10_000)]}
		})
	})
}

func benchDecode[T any](b *testing.B, n int, o []parquet.WriterOption, row func(int) T) {
	rows := make([]T, n)
	for i := range rows {
		rows[i] = row(i)
	}
	m, d := openDecoder(b, writeRows(b, [][]T{rows}, o...), Options{})
	raw := fetch(b, m, Rows{Hi: int64(n)})
	b.SetBytes(m.Groups()[0].Bytes)
	b.ReportAllocs()
	for b.Loop() {
		block, err := d.whole(raw, Layout{})
		if err != nil {
			b.Fatal(err)
		}
		block.Release()
	}
}
