package shardfeed

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/shardfeed/shardfeed/cache"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/internal/size"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/rule"
	"github.com/shardfeed/shardfeed/shuffle"
)

const maxSlots = 1 << 16 // of a ring; more is a mistake

// Validate lists all problems, each an [OptionError]. It opens no file and asks no server.
func (s Spec) Validate() error {
	if s.sized() {
		if err := s.validateSized(); err != nil {
			return err
		}
		s = s.asSources()
	}
	p := option.List{New: newOptionError}
	s.validateAddresses(&p)
	p.OneOf("Missing", s.Missing, "error", "null")
	p.OneOf("InvalidUTF8", s.InvalidUTF8, "refuse", "replace")
	if _, err := s.now(); err != nil {
		p.Add("Now", "must be an instant as in \"2024-01-31T16:30:00Z\", got %q", s.Now)
	}
	s.validateRows(&p)
	s.validateSizes(&p)
	p.Within("LocalWorldSize", int64(s.LocalWorldSize), option.MaxWorldSize)
	p.Within("LookMemory", s.LookMemory, option.MaxBytes)
	s.validateCache(&p)
	s.validateDecoded(&p)
	if _, err := s.drivers(); err != nil {
		p.Join(err)
	}
	s.validateBatches(&p)
	s.validatePack(&p)
	if s.Bucket != nil && s.BatchSize > 1 {
		p.Add("BatchSize", "must be 1 with {Bucket}, which makes the batches, got %d", s.BatchSize)
	}
	p.OneOf("ImageDecoder", s.ImageDecoder, AutoDecoder, TurboDecoder, GoDecoder)
	p.Join(loader.Options{Features: s.features(&p), Images: s.Images}.Validate())
	o := s.options()
	p.Join(o.Validate())
	return p.Err()
}

func newOptionError(field, text string) error { return &OptionError{Field: field, Text: text} }

func (s Spec) validateSizes(p *option.List) {
	if s.ShuffleBuffer != "" {
		if _, err := iterable.ParseSize(s.ShuffleBuffer); err != nil {
			p.Add("ShuffleBuffer", "%v", err)
		}
	}
	if s.Memory != "" {
		if _, err := size.Bytes(s.Memory); err != nil {
			p.Add("Memory", "%v", err)
		}
	}
}

func (s Spec) validateCache(p *option.List) {
	if _, _, ok := s.policy(); !ok {
		p.Add("CachePolicy", `must be "keep", "keep=" and how long after the last use, as in "keep=7d" or "keep=36h", or "lru", got %q`, s.CachePolicy)
	}
	if s.NoCache && s.RequireCache {
		p.Add("NoCache", "contradicts {RequireCache}")
	}
	_, err := s.CacheLimitIn(os.TempDir()) // any directory shows whether it is a limit, even on a full disk
	if wrong := (*OptionError)(nil); errors.As(err, &wrong) {
		p.Join(err)
	}
}

func (s Spec) validateBatches(p *option.List) {
	p.Within("BatchSize", int64(s.BatchSize), option.MaxBatchRows)
	p.Within("Workers", int64(s.Workers), option.MaxWorkers)
	p.Within("Slots", int64(s.Slots), maxSlots)
	for _, column := range slices.Sorted(maps.Keys(s.Null)) {
		if value, err := parseValue(s.Null[column]); err != nil || value == nil {
			p.Add(fmt.Sprintf("Null[%q]", column), "must be a number, a boolean, a text or {\"base64\": ...}, got %s", s.Null[column])
		}
	}
	seen := map[string]bool{}
	for _, pad := range s.Pad {
		at := func(field string) string { return fmt.Sprintf("Pad[%q].%s", pad.Column, field) }
		switch {
		case pad.Column == "":
			p.Add(at("Column"), "must not be empty")
		case seen[pad.Column]:
			p.Add(at("Column"), "must not be there twice")
		}
		seen[pad.Column] = true
		p.Within(at("MaxLength"), int64(pad.MaxLength), option.MaxBatchRows)
		p.Within(at("Multiple"), int64(pad.Multiple), option.MaxBatchRows)
		for _, w := range pad.Within {
			p.Within(at("MaxLength"), int64(w.MaxLength), option.MaxBatchRows)
			p.Within(at("Multiple"), int64(w.Multiple), option.MaxBatchRows)
		}
		if _, err := parseValue(pad.Value); err != nil {
			p.Add(at("Value"), "must be a number, a boolean or {\"base64\": ...}, got %s", pad.Value)
		}
	}
}

// options returns the data set's options, as far as they follow from the spec. What Validate
// refuses is left at its default.
func (s Spec) options() iterable.Options {
	now, _ := s.now()
	o := iterable.Options{
		Reading: s.Reading(), Order: s.Order, Mixing: s.Mixing, Words: s.Words, Losses: s.Losses, Choice: s.Choice.parsed(), Sources: s.sources(), Resources: iterable.Resources{Memory: s.givenMemory()},
		Now: now, ReadFile: s.readFile, Weight: s.Weight, Pack: s.Pack.options(), Bucket: s.Bucket.options(),
	}
	o.Tail = cmp.Or(s.Tail, shuffle.Short)
	o.ShuffleBuffer, _ = iterable.ParseSize(s.ShuffleBuffer)
	return o
}

// Reading returns the columns to read, and how to read them.
func (s Spec) Reading() iterable.Reading {
	return iterable.Reading{
		Columns: s.read(), Strict: s.Strict, MissingIsNull: s.Missing == "null", PartitionTypes: s.PartitionTypes, Declared: s.declared(),
		ReplaceUTF8: s.InvalidUTF8 == "replace", Needed: s.columnTypes(), RowIDs: s.RowIDs, RowKeys: s.Seeds || len(s.Images) > 0,
	}
}

// givenMemory returns Memory in bytes; 0 if it is not given.
func (s Spec) givenMemory() int64 {
	n, _ := size.Bytes(s.Memory)
	return n
}

// policy is CachePolicy, and how long shards are kept after a use; 0 leaves it to the cache.
func (s Spec) policy() (p cache.Policy, keep time.Duration, ok bool) {
	switch s.CachePolicy {
	case "", "keep":
		return cache.Keep, 0, true
	case "lru":
		return cache.LRU, 0, true
	}
	text, ok := strings.CutPrefix(s.CachePolicy, "keep=")
	keep, err := size.Age(text)
	return cache.Keep, keep, ok && err == nil
}

// sized reports whether EpochSize is of one data set, which is read as a mixture of one source.
func (s Spec) sized() bool { return s.EpochSize != 0 && len(s.Sources) == 0 }

// asSources returns a spec in which a sized data set is a source, and any other spec as it is.
func (s Spec) asSources() Spec {
	if !s.sized() {
		return s
	}
	s.Sources = []Source{{Name: shuffle.OnlySource, Addresses: s.Addresses, Weight: 1, Choice: s.Choice, RowWeight: s.Weight}}
	s.Addresses, s.Choice, s.Weight = nil, Choice{}, ""
	return s
}

// validateSized checks a sized data set, first without its EpochSize, so that messages name the
// fields that were given.
func (s Spec) validateSized() error {
	p := option.List{New: newOptionError}
	plain := s
	plain.EpochSize, plain.Plan, plain.SavedPlan = 0, "", nil // a plan is of sources
	p.Join(plain.Validate())
	if !s.Shuffle {
		p.Add("EpochSize", "needs {Shuffle}: in file order an epoch is all rows")
	}
	return p.Err()
}

// now is the instant of Now, or the zero Time.
func (s Spec) now() (time.Time, error) {
	if s.Now == "" {
		return time.Time{}, nil
	}
	return time.Parse(time.RFC3339, s.Now)
}

// At returns the spec with its Now in the format of states: the instant that the filters use, by
// default the given one. It stays "" if the filters use neither today() nor now(), or a plan sets
// it. Specs that read the same rows are then equal, whenever they were made.
func (s Spec) At(instant time.Time) Spec {
	now, err := s.now()
	switch {
	case err != nil || s.Now == "" && (s.Plan != "" || s.SavedPlan != nil):
		return s
	case s.Now == "":
		now = instant
	}
	s.Now = ""
	filters := []string{s.Filters}
	for _, of := range s.Sources {
		filters = append(filters, of.Filters)
	}
	for _, text := range filters {
		if e, err := rule.Parse(text); err == nil { // else Open returns the error
			if part := e.Clock(now); !part.IsZero() {
				s.Now = max(s.Now, part.Format(time.RFC3339))
			}
		}
	}
	return s
}
