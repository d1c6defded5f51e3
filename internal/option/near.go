package option

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"
)

const (
	nearNames  = 3   // suggested for an unknown one
	nearLength = 200 // of a name or a list of names
)

// Near suggests the known names most similar to an unknown one, for a message: "; there is "price",
// "prices"". If no name is similar, it lists all, unless they are long.
func Near(name string, known iter.Seq[string], all []string) string {
	if like := Like(name, known); len(like) > 0 {
		return "; there is " + quoted(like[:min(len(like), nearNames)])
	}
	if text := quoted(all); len(text) <= nearLength {
		return "; there is " + text
	}
	return fmt.Sprintf("; there are %d others", len(all))
}

// Like lists the known names that may be meant by a name, the likeliest first.
func Like(name string, known iter.Seq[string]) []string {
	far := map[string]int{}
	for k := range known {
		if d := distance(k, name); d <= max(2, len(name)/3) {
			far[k] = d
		}
	}
	like := make([]string, 0, len(far))
	for k := range far {
		like = append(like, k)
	}
	slices.SortFunc(like, func(a, b string) int { return cmp.Or(far[a]-far[b], strings.Compare(a, b)) })
	return like
}

func quoted(names []string) string {
	var all []string
	for _, n := range names {
		all = append(all, fmt.Sprintf("%q", n))
	}
	return strings.Join(all, ", ")
}

// distance is the edit distance of two names, case apart; names of very different length are just
// far.
func distance(a, b string) int {
	a, b = strings.ToLower(a), strings.ToLower(b)
	if d := len(a) - len(b); d > 8 || d < -8 || len(a) > nearLength || len(b) > nearLength {
		return nearLength
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
