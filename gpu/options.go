package gpu

import (
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
)

// Options configure a Loader.
type Options struct {
	// Loader is the loader's. Its Allocator is the ring, and must be nil. MaxBatches is the ring's
	// slots; 0 means what Workers, PrefetchFactor and InFlight ask for.
	Loader loader.Options

	// InFlight is how many batches are on their way to the device, or there, ahead of the consumer.
	// 0 means 2.
	InFlight int

	// Held is how many batches the consumer may have without releasing them; with one more it
	// waits. 0 means 2.
	Held int

	// SlotBytes is the initial memory of a batch. 0 means the estimate from the data set's
	// metadata.
	SlotBytes int

	// RequirePinned makes it an error that the device has no page-locked memory.
	RequirePinned bool

	Events Events
}

// Events are called when something happens that a user may want to read, if set. They may be called
// by several goroutines at once.
type Events struct {
	// Pageable says, once, why batches are in ordinary memory, and what to do about it: a *PinError.
	Pageable func(error)
}

const (
	defaultInFlight = 2
	defaultHeld     = 2
)

// Validate returns all problems, each an iterable.OptionError; problems of the loader's options
// have fields such as "BatchSize".
func (o Options) Validate() error {
	p := option.List{New: func(field, text string) error { return &iterable.OptionError{Field: field, Text: text} }}
	p.Join(o.Loader.Validate())
	if o.Loader.Allocator != nil {
		p.Add("Loader.Allocator", "must be nil: batches lie in the ring of the device")
	}
	p.Within("InFlight", int64(o.InFlight), option.MaxBatches)
	p.Within("Held", int64(o.Held), option.MaxBatches)
	p.Within("SlotBytes", int64(o.SlotBytes), option.MaxBytes)
	return p.Err()
}

// withDefaults is called on valid options.
func (o Options) withDefaults() Options {
	if o.InFlight == 0 {
		o.InFlight = defaultInFlight
	}
	if o.Held == 0 {
		o.Held = defaultHeld
	}
	l := &o.Loader
	if l.Workers > 0 && l.PrefetchFactor == 0 {
		l.PrefetchFactor = loader.DefaultPrefetch
	}
	if l.MaxBatches == 0 {
		l.MaxBatches = max(1, l.Workers*l.PrefetchFactor) + o.InFlight
	}
	return o
}
