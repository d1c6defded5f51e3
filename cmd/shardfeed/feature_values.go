package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/shardfeed/shardfeed"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/loader"
)

// castFlag is a flag that gives columns types.
type castFlag map[string]string

func (v *castFlag) Set(s string) error {
	return setPairs((*map[string]string)(v), s, "label=int32", asText)
}

func (v *castFlag) String() string { return "" }

func (v *castFlag) Type() string { return "column=type,..." }

// hashFlag is a flag that gives columns numbers of buckets.
type hashFlag map[string]int64

func (v *hashFlag) Set(s string) error {
	return setPairs((*map[string]int64)(v), s, "user_id=1000000", asWhole)
}

func (v *hashFlag) String() string { return "" }

func (v *hashFlag) Type() string { return "column=buckets,..." }

// scaleFlag is a flag that gives a column its mean and deviation.
type scaleFlag map[string][]float64

func (v *scaleFlag) Set(s string) error {
	name, numbers, found := cutLast(s)
	mean, deviation, two := strings.Cut(numbers, ",")
	m, err := asNumber(strings.TrimSpace(mean))
	d, errToo := asNumber(strings.TrimSpace(deviation))
	if !found || !two || name == "" || errors.Join(err, errToo) != nil {
		return fmt.Errorf("must be a column with its mean and deviation, as in price=12.5,3.1, got %q", s)
	}
	return setOnce((*map[string][]float64)(v), name, []float64{m, d})
}

func (v *scaleFlag) String() string { return "" }

func (v *scaleFlag) Type() string { return "column=mean,deviation" }

// stackFlag is a flag that makes a matrix of columns.
type stackFlag map[string]shardfeed.Stack

func (v *stackFlag) Set(s string) error {
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

func (v *stackFlag) String() string { return "" }

func (v *stackFlag) Type() string { return "name[:type]=columns" }

// shapeOf is how the features shape the columns of an open data set.
func shapeOf(ds *shardfeed.Dataset) (*loader.Shape, error) {
	shape, err := ds.Shape()
	if err != nil {
		return nil, usagef("%s", option.Spelled(err, option.Flag))
	}
	return shape, nil
}
