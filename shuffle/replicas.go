package shuffle

import (
	"fmt"
	"strings"
)

// OfReplicas returns the worker as a data rank: each run of n ranks takes the same rows, as tensor
// and pipeline parallel ranks do, and counts as data rank rank/n of world size/n. Everything else,
// views and states included, only knows data ranks. n must divide the world size; 0 is 1.
func (w Worker) OfReplicas(n int) (Worker, error) {
	if err := w.Validate(); err != nil {
		return Worker{}, err
	}
	w = w.withDefaults()
	if n == 0 {
		n = 1
	}
	if n < 1 || w.WorldSize%n != 0 {
		return Worker{}, refuse("replication", "must divide the world size of %d (%s), got %d", w.WorldSize, divisors(w.WorldSize), n)
	}
	w.Rank, w.WorldSize = w.Rank/n, w.WorldSize/n
	return w, nil
}

// LocalRanks returns the number of data ranks on a node with the given ranks, where each run of n
// ranks is one data rank, or 0 if that is not known. n may be 0, which means 1.
func LocalRanks(ranks, n int) int {
	n = max(1, n)
	switch {
	case ranks%n == 0:
		return ranks / n
	case n%ranks == 0:
		return 1 // replicas are on several nodes
	}
	return 0
}

// divisors of n in words.
func divisors(n int) string {
	var all []string
	for d := 1; d <= n; d++ {
		if n%d == 0 {
			all = append(all, fmt.Sprint(d))
		}
	}
	return strings.Join(all, ", ")
}
