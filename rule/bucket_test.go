package rule

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/internal/option"
)

func bucketOf(tokens, multiple, rows int) *Bucket {
	return &Bucket{Columns: map[string]int{"tokens": tokens}, Multiple: multiple, MaxRows: rows}
}

// Each row is in one batch, batches keep within the budget and their rows, and the number and the
// padding of batches are the same in every order.
func TestBucketLayout(t *testing.T) {
	for _, c := range []struct{ tokens, multiple, rows int }{{500, 0, 0}, {500, 8, 0}, {1000, 64, 7}, {1, 1, 0}, {40, 3, 1}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			r := rand.New(rand.NewPCG(2, uint64(c.tokens)))
			p := bucketOf(c.tokens, c.multiple, c.rows).NewPacker()
			for range 20 {
				lengths := randomLengths(r, r.IntN(200))
				count := p.Count(lengths)
				padded := p.PaddedTokens
				order := shuffled(r, len(lengths))
				place := make([]int, len(order))
				for i, doc := range order {
					place[doc] = i
				}
				pieces, ends := p.Layout(lengths, order)
				if int64(len(ends)) != count || p.PaddedTokens != padded {
					t.Fatalf("%d batches of %d tokens, %d of %d counted", len(ends), p.PaddedTokens, count, padded)
				}
				seen, sum, before := map[uint32]bool{}, int64(0), 1<<30
				for _, batch := range blocksOf(pieces, ends) {
					longest := 1
					for i, piece := range batch {
						if seen[piece.Doc] || piece.Begin != 0 || piece.Tokens != lengths[piece.Doc] {
							t.Fatalf("row %d: %+v", piece.Doc, piece)
						}
						if seen[piece.Doc] = true; i > 0 && place[batch[i-1].Doc] > place[piece.Doc] {
							t.Fatal("rows of a batch are not in the order")
						}
						longest = max(longest, int(piece.Tokens))
					}
					if longest > before {
						t.Fatal("a batch has longer rows than the one before")
					}
					before = longest
					m := max(1, c.multiple)
					longest = (longest + m - 1) / m * m
					sum += int64(longest * len(batch))
					if len(batch) > 1 && longest*len(batch) > c.tokens || c.rows > 0 && len(batch) > c.rows {
						t.Fatalf("%d rows of %d tokens", len(batch), longest)
					}
				}
				if len(seen) != len(lengths) || sum != padded {
					t.Fatalf("%d of %d rows, %d padded tokens, want %d", len(seen), len(lengths), padded, sum)
				}
			}
		})
	}
}

// Batches of a large unit are hardly padded.
func TestBucketsAreFull(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	lengths := make([]uint32, 5000)
	for i := range lengths {
		lengths[i] = uint32(max(1, math.Round(300*math.Exp(r.NormFloat64()))))
	}
	p := bucketOf(16384, 1, 0).NewPacker()
	p.Count(lengths)
	if part := float64(Sum(lengths)) / float64(p.PaddedTokens); part < 0.97 {
		t.Errorf("%.3f of the tokens are of rows", part)
	}
}

func TestBucketValidate(t *testing.T) {
	for _, c := range []struct {
		bucket Bucket
		want   string
	}{
		{Bucket{}, "bucket must name one column, of lists or of their lengths, and the tokens of a batch, got 0 columns"},
		{Bucket{Columns: map[string]int{"a": 1, "b": 1}}, "got 2 columns"},
		{*bucketOf(0, 0, 0), `bucket["tokens"] must be from 1 to 16777216 tokens, got 0`},
		{*bucketOf(8, -1, 0), "bucket rounds lengths to a multiple from 1 to 16777216, got -1"},
		{*bucketOf(8, 0, -1), "bucket has at most 1 to 16777216 rows in a batch, got -1"},
	} {
		t.Run(c.want, func(t *testing.T) {
			if err := c.bucket.Validate(); err == nil || !strings.Contains(option.Spelled(err, option.Argument), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
	if got, want := bucketOf(9, 0, 0).Text(), `bucket "tokens" 9 multiple 1 rows 0`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
