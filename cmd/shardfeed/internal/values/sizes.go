package values

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Weights is a flag that gives weights to names: train=9,val=1. It may be given many times.
type Weights map[string]float64

func (w *Weights) Set(s string) error {
	return setPairs((*map[string]float64)(w), s, "train=9,val=1", asNumber)
}

func (w *Weights) String() string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(*w)) {
		all = append(all, name+"="+strconv.FormatFloat((*w)[name], 'g', -1, 64))
	}
	return strings.Join(all, ",")
}

func (w *Weights) Type() string { return "name=weight,..." }

// Sizes is a flag that gives sizes to columns: token_ids=8192. It may be given many times.
type Sizes map[string]int

func (b *Sizes) Set(s string) error {
	return setPairs((*map[string]int)(b), s, "token_ids=8192", strconv.Atoi)
}

func (b *Sizes) String() string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(*b)) {
		all = append(all, fmt.Sprintf("%s=%d", name, (*b)[name]))
	}
	return strings.Join(all, ",")
}

func (b *Sizes) Type() string { return "column=tokens" }
