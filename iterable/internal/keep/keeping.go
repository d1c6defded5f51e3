package keep

import (
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup"
)

// A Keeping is shared by the streams of a data set to keep its row groups decoded. It is safe for
// concurrent use.
type Keeping struct {
	budget   *mem.Budget
	memory   int64 // limit of a stream
	kept     bool  // the data set has a tier
	governor governor
	gains    gains
	mappings mappings
}

// A Place is a row group.
type Place struct {
	Manifest *rowgroup.Reader
	Group    int
}

// New returns the Keeping of a data set whose streams are limited to memory bytes. It chooses
// columns whose images of all row groups take no more than limit bytes; with 0, any. tier is nil
// if it keeps nothing.
func New(budget *mem.Budget, memory int64, tier rowgroup.Tier, limit int64) *Keeping {
	return &Keeping{budget: budget, memory: memory, kept: tier != nil, gains: gains{limit: limit}, mappings: mappings{budget: budget}}
}

// Images returns the images of the tier that may stay mapped.
func (k *Keeping) Images() *rowgroup.MappedImages { return &k.mappings.images }

// Close frees the memory of mapped images, including images that streams leave later.
func (k *Keeping) Close() { k.mappings.close() }
