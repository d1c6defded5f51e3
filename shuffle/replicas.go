package shuffle

import (
	"fmt"
	"strings"
)

// OfReplicas is the worker among the data ranks, where each run of so many ranks takes the same
// rows, as tensor and pipeline parallel ranks do: data rank rank/n of world size/n. All else, views
// and states included, knows data ranks alone. n must divide the world size; 0 is 1.
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
