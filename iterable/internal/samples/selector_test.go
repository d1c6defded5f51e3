package samples

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// randomSelection keeps a share of rows.
func randomSelection(r *rand.Rand, rows int, share float64) Selection {
	s := Selection{Rows: rows, bits: make([]uint64, (rows+63)/64)}
	for i := range rows {
		if r.Float64() < share {
			s.bits[i/64] |= 1 << (i % 64)
		}
	}
	return s
}

// AppendRows has the rows of Each, behind the earlier ones.
func TestAppendRows(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, rows := range []int{0, 1, 63, 64, 65, 1000} {
		for _, share := range []float64{0, 0.1, 0.9, 1} {
			s := randomSelection(r, rows, share)
			want := []uint32{7}
			s.Each(0, rows, func(row int) { want = append(want, uint32(row)) })
			if got := s.AppendRows([]uint32{7}); !slices.Equal(got, want) {
				t.Errorf("%d rows, %v kept: got %v, want %v", rows, share, got, want)
			}
		}
	}
}

func BenchmarkAppendRows(b *testing.B) {
	s := randomSelection(rand.New(rand.NewPCG(1, 2)), 50_000, 0.9)
	var rows []uint32
	for b.Loop() {
		rows = s.AppendRows(rows[:0])
	}
}

func BenchmarkEach(b *testing.B) {
	s := randomSelection(rand.New(rand.NewPCG(1, 2)), 50_000, 0.9)
	var rows []uint32
	from, to := int64(0), int64(45_500)
	for b.Loop() {
		rows, at := rows[:0], int64(0)
		s.Each(0, s.Rows, func(row int) {
			if from <= at && at < to {
				rows = append(rows, uint32(row))
			}
			at++
		})
	}
	_ = rows
}
