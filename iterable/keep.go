package iterable

import (
	"errors"
	"fmt"

	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/rule"
)

// A Keep is a filter that is a Go function. It is a part of the rule: the counting pass and each
// load call it, so it must keep the same rows each time.
type Keep struct {
	// Name stands for the function in the state and in the counts that are kept between runs: one
	// that keeps other rows must have another name.
	Name    string
	Columns []string // dotted paths of the columns that it reads; they need not be among Options.Columns

	// Func clears the bits of the rows that it does not keep: row i is bit i%64 of word i/64 of
	// keep. Bits that are 0 already stay 0. The columns are those of Columns, in their order, and
	// are valid during the call. Several goroutines call it at once.
	Func func(columns []rule.Column, rows int, keep []uint64) error
}

// validateRules lists what is wrong with the options that say which rows are read.
func (o Options) validateRules(p *option.List) {
	if year := o.Now.UTC().Year(); year < 1 || year > 9999 {
		p.Add("Now", "must be in the years 1 to 9999, got %d", year)
	}
	if o.Filters != "" {
		_, err := rule.Parse(o.Filters)
		p.Join(optionErrors(err))
	}
	if k := o.Keep; k != nil {
		if k.Name == "" {
			p.Add("Keep.Name", "must not be empty: it stands for the function in states")
		}
		if k.Func == nil {
			p.Add("Keep.Func", "must be a function")
		}
		for i, c := range k.Columns {
			if c == "" {
				p.Add(fmt.Sprintf("Keep.Columns[%d]", i), "must not be empty")
			}
		}
	}
	p.Join(optionErrors(o.Split.Validate()))
	p.Join(optionErrors(o.RowsNew.Validate()))
	if o.Pack != nil {
		p.Join(optionErrors(o.Pack.Validate()))
	}
	if o.Bucket != nil {
		p.Join(optionErrors(o.Bucket.Validate()))
	}
	if o.Pack != nil && o.Bucket != nil {
		p.Add("Bucket", "makes batches of rows, and {Pack} blocks; leave one of the two out")
	}
	if o.Rows == nil && o.RowsNew != "" {
		p.Add("RowsNew", "needs {Rows}, got %q alone", string(o.RowsNew))
	}
}

// optionErrors makes each rule.Error within err an OptionError.
func optionErrors(err error) error {
	if err == nil {
		return nil
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, e := range many.Unwrap() {
			all = append(all, optionErrors(e))
		}
		return errors.Join(all...)
	}
	var e *rule.Error
	if errors.As(err, &e) {
		return &OptionError{Field: e.Field, Text: e.Text, Err: e}
	}
	return err
}
