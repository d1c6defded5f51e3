package main

import (
	"math"
	"slices"
)

// A mixing measures how evenly the row groups come to the batches. It is used by one goroutine.
type mixing struct {
	ends  []int64 // number of rows up to the end of each row group that has rows
	total int64
	count []int64 // rows of the batch at hand by row group

	batches  int64
	distinct int64   // row groups in a batch, summed over batches
	expected float64 // the same for a perfect shuffle
	uneven   float64 // chi-square over its mean for a perfect shuffle, summed over batches
}

// newMixing is for row groups of these many rows, in the order of the rows.
func newMixing(rows []int64) *mixing {
	m := &mixing{}
	for _, n := range rows {
		if n > 0 {
			m.total += n
			m.ends = append(m.ends, m.total)
		}
	}
	m.count = make([]int64, len(m.ends))
	return m
}

// group is where a row lies.
func (m *mixing) group(row int64) int {
	i, found := slices.BinarySearch(m.ends, row)
	if found {
		i++
	}
	return i
}

// add takes in one batch of rows, each a place among all rows.
func (m *mixing) add(rows []int64) {
	clear(m.count)
	for _, r := range rows {
		m.count[m.group(r)]++
	}
	n := float64(len(rows))
	if n == 0 {
		return
	}
	var chi float64
	begin := int64(0)
	for g, end := range m.ends {
		share := float64(end-begin) / float64(m.total)
		begin = end
		m.expected += 1 - m.missing(share, n)
		if m.count[g] > 0 {
			m.distinct++
		}
		d := float64(m.count[g]) - n*share
		chi += d * d / (n * share)
	}
	m.batches++
	m.uneven += m.overPerfect(chi, n)
}

// overPerfect is a batch's chi-square over what a draw of n rows without repetition has in the
// mean.
func (m *mixing) overPerfect(chi, n float64) float64 {
	perfect := float64(len(m.ends)-1) * (float64(m.total) - n) / float64(max(m.total-1, 1))
	if perfect <= 0 {
		return 1
	}
	return chi / perfect
}

// missing is the chance that n rows, drawn without repetition, hold none of a row group with this
// share of all rows.
func (m *mixing) missing(share, n float64) float64 {
	all := float64(m.total)
	others := all - share*all
	if n > others {
		return 0
	}
	return math.Exp(logFactorial(others) + logFactorial(all-n) - logFactorial(others-n) - logFactorial(all))
}

func logFactorial(n float64) float64 {
	l, _ := math.Lgamma(n + 1)
	return l
}

// A mixed is what a mixing found, as means over batches.
type mixed struct {
	Groups  float64 `json:"row_groups_per_batch"`
	Perfect float64 `json:"row_groups_of_a_perfect_shuffle"`
	Uneven  float64 `json:"unevenness"` // 1 is a perfect shuffle; file order has about the rows of a batch
}

func (m *mixing) result() mixed {
	n := float64(max(1, m.batches))
	return mixed{Groups: float64(m.distinct) / n, Perfect: m.expected / n, Uneven: m.uneven / n}
}
