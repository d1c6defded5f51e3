package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// Batches of a true random permutation measure as a perfect shuffle.
func TestMixingOfPerfectShuffle(t *testing.T) {
	groups := []int64{100, 300, 0, 50, 550, 1000}
	rng := rand.New(rand.NewPCG(1, 1))
	m := newMixing(groups)
	for range 200 {
		order := rng.Perm(2000)
		for len(order) >= 20 {
			m.add(places(order[:20]))
			order = order[20:]
		}
	}
	got := m.result()
	near(t, "unevenness", got.Uneven, 1, 0.02)
	near(t, "row groups", got.Groups, got.Perfect, 0.02)
}

// A batch from one of ten equal row groups is as uneven as can be.
func TestMixingOfFileOrder(t *testing.T) {
	m := newMixing([]int64{100, 100, 100, 100, 100, 100, 100, 100, 100, 100})
	for first := 0; first < 1000; first += 20 {
		var rows []int64
		for i := range 20 {
			rows = append(rows, int64(first+i))
		}
		m.add(rows)
	}
	got := m.result()
	near(t, "row groups", got.Groups, 1, 0)
	// chi-square of 20 rows in one of ten groups is 180; a perfect shuffle has 9 * 980/999.
	near(t, "unevenness", got.Uneven, 180/(9*980.0/999), 1e-9)
	// 1 - C(900,20)/C(1000,20) of each group
	near(t, "perfect", got.Perfect, 10*(1-0.119), 0.02)
}

func TestMixingOfOneGroup(t *testing.T) {
	m := newMixing([]int64{0, 8, 0})
	m.add([]int64{0, 7, 3})
	m.add([]int64{1, 2, 4, 5, 6})
	if got := m.result(); got.Groups != 1 || got.Uneven != 1 || math.Abs(got.Perfect-1) > 1e-12 {
		t.Errorf("got %+v", got)
	}
}

func TestMixingOfWholeData(t *testing.T) {
	m := newMixing([]int64{2, 2})
	m.add([]int64{3, 1, 0, 2})
	if got := m.result(); got.Groups != 2 || got.Perfect != 2 || got.Uneven != 1 {
		t.Errorf("got %+v", got)
	}
}

func TestMixingGroup(t *testing.T) {
	m := newMixing([]int64{3, 0, 1, 2})
	for row, want := range []int{0, 0, 0, 1, 2, 2} {
		t.Run(fmt.Sprintf("row %d", row), func(t *testing.T) {
			if got := m.group(int64(row)); got != want {
				t.Errorf("row %d is in group %d, want %d", row, got, want)
			}
		})
	}
}

func places(order []int) []int64 {
	rows := make([]int64, len(order))
	for i, o := range order {
		rows[i] = int64(o)
	}
	return rows
}
