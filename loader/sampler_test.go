package loader

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"testing"
)

func rowsOf(s Sampler, epoch int64) []int64 { return slices.Collect(s.Rows(epoch)) }

// sorted are the rows 0 to n-1.
func sorted(n int64) []int64 { return slices.Collect(Sequential{N: n}.Rows(0)) }

func TestSamplersHaveTheirRows(t *testing.T) {
	weighted, err := NewWeighted([]float64{0, 1, 2.5, 0, 1e-9}, 3, false, 4)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		s    Sampler
		want []int64 // in some order
	}{
		{"sequential", Sequential{N: 4}, []int64{0, 1, 2, 3}},
		{"random", Random{N: 50, Seed: 1}, sorted(50)},
		{"random, twice", Random{N: 3, Samples: 6}, []int64{0, 0, 1, 1, 2, 2}},
		{"random of nothing", Random{Samples: 6}, nil},
		{"random of nothing, with replacement", Random{Samples: 6, Replacement: true}, nil},
		{"subset", Subset{Indices: []int64{3, 3, 9}}, []int64{3, 3, 9}},
		{"random subset", SubsetRandom{Indices: []int64{3, 7, 9}}, []int64{3, 7, 9}},
		{"weighted without replacement", weighted, []int64{1, 2, 4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := rowsOf(c.s, 3)
			if c.s.Len() != int64(len(got)) {
				t.Errorf("length %d, and %d rows", c.s.Len(), len(got))
			}
			if again := rowsOf(c.s, 3); !slices.Equal(again, got) {
				t.Errorf("%v, and then %v", got, again)
			}
			slices.Sort(got)
			if !slices.Equal(got, c.want) {
				t.Errorf("rows %v, want %v", got, c.want)
			}
		})
	}
}

// Orders are those of seed and epoch, and pinned: a resume on another machine repeats them.
func TestSamplersArePinned(t *testing.T) {
	weighted, err := NewWeighted([]float64{1, 2, 3, 4}, 8, true, 7)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		s     Sampler
		epoch int64
		want  string
	}{
		{"random", Random{N: 8, Seed: 7}, 0, "[1 0 6 7 3 5 4 2]"},
		{"its next epoch", Random{N: 8, Seed: 7}, 1, "[1 4 3 2 5 0 6 7]"},
		{"another seed", Random{N: 8, Seed: 8}, 0, "[3 0 1 7 2 6 5 4]"},
		{"with replacement", Random{N: 8, Seed: 7, Replacement: true}, 0, "[5 3 6 5 4 6 2 3]"},
		{"subset", SubsetRandom{Indices: []int64{10, 20, 30, 40}, Seed: 7}, 0, "[20 10 40 30]"},
		{"weighted", weighted, 0, "[2 3 2 1 2 2 2 0]"},
		{"distributed", Distributed{N: 8, Rank: 1, WorldSize: 2, Shuffle: true, Seed: 7}, 0, "[0 7 5 2]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := fmt.Sprint(rowsOf(c.s, c.epoch)); got != c.want {
				t.Errorf("rows %s, want %s", got, c.want)
			}
		})
	}
}

func TestSamplersMayBeLeft(t *testing.T) {
	weighted, err := NewWeighted([]float64{1, 2, 3, 4}, 4, false, 7)
	if err != nil {
		t.Fatal(err)
	}
	again, err := NewWeighted([]float64{1, 2, 3, 4}, 9, true, 7)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []Sampler{
		Sequential{N: 9}, Random{N: 9}, Random{N: 9, Replacement: true}, SubsetRandom{Indices: sorted(9)}, Distributed{N: 9}, weighted, again,
	} {
		t.Run(fmt.Sprintf("%T", s), func(t *testing.T) {
			next, stop := iter.Pull(s.Rows(0))
			if _, ok := next(); !ok {
				t.Error("no row")
			}
			stop()
		})
	}
}

// Rows are drawn in proportion to their weights.
func TestWeightedFrequencies(t *testing.T) {
	weights := []float64{5, 0, 1, 3, 0.5, 0.5}
	const draws = 200_000
	s, err := NewWeighted(weights, draws, true, 1)
	if err != nil {
		t.Fatal(err)
	}
	counts := make([]float64, len(weights))
	for row := range s.Rows(0) {
		counts[row]++
	}
	for i, w := range weights {
		want := w / 10 * draws
		if math.Abs(counts[i]-want) > 4*math.Sqrt(want+1) {
			t.Errorf("row %d came %.0f times, want about %.0f", i, counts[i], want)
		}
	}
}

// Without replacement the first row is drawn by weight, and all rows come at last, however small
// their weights are.
func TestWeightedWithoutReplacement(t *testing.T) {
	weights := make([]float64, 300)
	for i := range weights {
		weights[i] = math.Pow(0.9, float64(i))
	}
	first := 0
	for seed := range uint64(200) {
		s, err := NewWeighted(weights, 300, false, seed)
		if err != nil {
			t.Fatal(err)
		}
		rows := rowsOf(s, 0)
		if rows[0] == 0 {
			first++
		}
		if slices.Sort(rows); !slices.Equal(rows, sorted(300)) {
			t.Fatalf("seed %d: not each row once", seed)
		}
	}
	if first < 8 || first > 36 { // a tenth of 200, within four deviations
		t.Errorf("row 0 was first %d times of 200", first)
	}
}

func TestWeightedRefuses(t *testing.T) {
	for _, c := range []struct {
		weights     []float64
		samples     int64
		replacement bool
		want        string
	}{
		{[]float64{1, -2}, 1, true, "weights[1] must be a finite number of at least 0, got -2"},
		{[]float64{math.NaN()}, 1, true, "weights[0] must be a finite number of at least 0, got NaN"},
		{[]float64{math.Inf(1)}, 1, true, "got +Inf"},
		{[]float64{0, 0}, 1, true, "at least one above 0"},
		{nil, 1, true, "at least one above 0"},
		{[]float64{1}, 0, true, "samples must be at least 1, got 0"},
		{[]float64{1, 0, 1}, 3, false, "at most 2 without replacement"},
	} {
		t.Run(c.want, func(t *testing.T) {
			if _, err := NewWeighted(c.weights, c.samples, c.replacement, 0); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// torchIndices is __iter__ of torch's DistributedSampler, over an order.
func torchIndices(order []int64, rank, replicas int, dropLast bool) []int64 {
	n := len(order)
	samples := (n + replicas - 1) / replicas
	if dropLast && n%replicas != 0 {
		samples = int(math.Ceil(float64(n-replicas) / float64(replicas)))
	}
	total, indices := samples*replicas, slices.Clone(order)
	if dropLast {
		indices = indices[:total]
	} else if padding := total - n; padding <= n {
		indices = append(indices, order[:padding]...)
	} else {
		repeated := slices.Repeat(order, (padding+n-1)/n)
		indices = append(indices, repeated[:padding]...)
	}
	var own []int64
	for i := rank; i < total; i += replicas {
		own = append(own, indices[i])
	}
	return own
}

func TestDistributedIsTorchs(t *testing.T) {
	for _, n := range []int64{1, 2, 3, 10, 16, 101} {
		for _, world := range []int{1, 2, 3, 7, 16} {
			for _, drop := range []bool{false, true} {
				for _, shuffle := range []bool{false, true} {
					t.Run(fmt.Sprintf("%d rows, %d ranks, drop %t, shuffle %t", n, world, drop, shuffle), func(t *testing.T) {
						order := sorted(n)
						if shuffle {
							order = rowsOf(Random{N: n, Seed: 5}, 2)
						}
						for rank := range world {
							s := Distributed{N: n, Rank: rank, WorldSize: world, Shuffle: shuffle, DropLast: drop, Seed: 5}
							got, want := rowsOf(s, 2), torchIndices(order, rank, world, drop)
							if !slices.Equal(got, want) || s.Len() != int64(len(want)) {
								t.Errorf("rank %d: rows %v (length %d), want %v", rank, got, s.Len(), want)
							}
						}
					})
				}
			}
		}
	}
	if got := rowsOf(Distributed{}, 0); got != nil {
		t.Errorf("rows %v of nothing", got)
	}
}

func TestBatched(t *testing.T) {
	for _, c := range []struct {
		n    int64
		size int
		drop bool
		want string
	}{
		{5, 2, false, "[[0 1] [2 3] [4]]"},
		{5, 2, true, "[[0 1] [2 3]]"},
		{4, 2, false, "[[0 1] [2 3]]"},
		{0, 2, false, "[]"},
		{2, 0, false, "[[0] [1]]"},
	} {
		t.Run(c.want, func(t *testing.T) {
			if got := fmt.Sprint(slices.Collect(Batched(Sequential{N: c.n}.Rows(0), c.size, c.drop))); got != c.want {
				t.Errorf("lists %s", got)
			}
		})
	}
	for list := range Batched(Sequential{N: 9}.Rows(0), 3, false) {
		if list[0] != 0 {
			t.Error("the loop went on")
		}
		break
	}
}
