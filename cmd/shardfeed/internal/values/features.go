package values

import (
	"errors"
	"fmt"
	"strings"

	"github.com/shardfeed/shardfeed"
)

// Casts is a flag that gives columns types.
type Casts map[string]string

func (v *Casts) Set(s string) error {
	return setPairs((*map[string]string)(v), s, "label=int32", asText)
}

func (v *Casts) String() string { return "" }

func (v *Casts) Type() string { return "column=type,..." }

// Hashes is a flag that gives columns numbers of buckets.
type Hashes map[string]int64

func (v *Hashes) Set(s string) error {
	return setPairs((*map[string]int64)(v), s, "user_id=1000000", asWhole)
}

func (v *Hashes) String() string { return "" }

func (v *Hashes) Type() string { return "column=buckets,..." }

// Scales is a flag that gives a column its mean and deviation.
type Scales map[string][]float64

func (v *Scales) Set(s string) error {
	name, numbers, found := cutLast(s)
	mean, deviation, two := strings.Cut(numbers, ",")
	m, err := asNumber(strings.TrimSpace(mean))
	d, errToo := asNumber(strings.TrimSpace(deviation))
	if !found || !two || name == "" || errors.Join(err, errToo) != nil {
		return fmt.Errorf("must be a column with its mean and deviation, as in price=12.5,3.1, got %q", s)
	}
	return setOnce((*map[string][]float64)(v), name, []float64{m, d})
}

func (v *Scales) String() string { return "" }

func (v *Scales) Type() string { return "column=mean,deviation" }

// Stacks is a flag that makes a matrix of columns.
type Stacks map[string]shardfeed.Stack

func (v *Stacks) Set(s string) error {
	name, columns, found := strings.Cut(s, "=")
	name, dtype, _ := strings.Cut(strings.TrimSpace(name), ":")
	if !found || name == "" {
		return fmt.Errorf("must be the name of a matrix with its columns, as in x=num_*,price, got %q", s)
	}
	stack := shardfeed.Stack{DType: dtype}
	for c := range strings.SplitSeq(columns, ",") {
		stack.Columns = append(stack.Columns, strings.TrimSpace(c))
	}
	return setOnce((*map[string]shardfeed.Stack)(v), name, stack)
}

func (v *Stacks) String() string { return "" }

func (v *Stacks) Type() string { return "name[:type]=columns" }
