package samples

import (
	"errors"

	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/rule"
)

// Parse returns the filter, and adds the problems of all options that choose rows to p.
func (o Options) Parse(p *option.List) (filter *rule.Expr) {
	if year := o.Now.UTC().Year(); year < 1 || year > 9999 {
		p.Add("Now", "must be in the years 1 to 9999, got %d", year)
	}
	if o.Filters != "" {
		var err error
		filter, err = rule.Parse(o.Filters)
		p.Join(optionErrors(err))
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
	return filter
}

// optionErrors makes each rule.Error within err an option.Error.
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
		return &option.Error{Field: e.Field, Text: e.Text, Err: e}
	}
	return err
}
