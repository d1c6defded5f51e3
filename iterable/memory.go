package iterable

import "github.com/shardfeed/shardfeed/internal/mem"

// A Budget is the memory that the streams of several data sets share. A stream is admitted with its
// whole bound or refused; it never waits for the memory of another. It is safe for concurrent use.
type Budget mem.Budget

// NewBudget returns a budget of a number of bytes. 0 sets no limit.
func NewBudget(bytes int64) *Budget { return (*Budget)(mem.NewBudget(bytes)) }

// Limit is the budget's bytes; 0 or less when there is no limit.
func (b *Budget) Limit() int64 { return (*mem.Budget)(b).Limit() }

// Admitted is the sum of the open streams' bounds.
func (b *Budget) Admitted() int64 { return (*mem.Budget)(b).Admitted() }

// An Account is a stream's bound and what it uses of it, for package loader.
type Account mem.Account

// Amounts are bytes by purpose.
type Amounts mem.Amounts

// Total is their sum.
func (a Amounts) Total() int64 { return mem.Amounts(a).Total() }

// String lists the purposes that are not zero, as in "fetch 12.0 MiB, shuffle 1.5 GiB".
func (a Amounts) String() string { return mem.Amounts(a).String() }
