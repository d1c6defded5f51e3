package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/shardfeed/shardfeed"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/loader"
)

// featureFlags say what becomes of the values of columns.
type featureFlags struct {
	casts  castFlag
	hashes hashFlag
	scales scaleFlag
	stacks stackFlag
	images imagesFlag
}

func (f *featureFlags) features(fs *pflag.FlagSet) {
	group(fs, featuresGroup, func(fs *pflag.FlagSet) {
		fs.Var(&f.casts, "cast", "types of columns, by names or patterns, as in label=int32,num_*=bfloat16")
		fs.Var(&f.hashes, "hash", "number of buckets of columns whose values are hashed, as in user_id=1000000")
		fs.Var(&f.scales, "scale", "mean and deviation by which a column is scaled, as in price=12.5,3.1; repeated for others")
		fs.Var(&f.stacks, "stack", "columns that become one matrix, as in x=num_*,price, or x:bfloat16=num_*,price for another type than float32; repeated for others")
	})
}

// imagesOf registers the flag of verbs that make tensors of images.
func (f *featureFlags) imagesOf(fs *pflag.FlagSet) {
	group(fs, featuresGroup, func(fs *pflag.FlagSet) { fs.Var(&f.images, "images", imagesUsage) })
}

func (f *featureFlags) shaped(s *shardfeed.Spec) {
	s.Cast, s.Hash, s.Scale, s.Stack, s.Images = f.casts, f.hashes, f.scales, f.stacks, f.images
}

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
