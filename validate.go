package shardfeed

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/shardfeed/shardfeed/cache"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/internal/size"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/rule"
	"github.com/shardfeed/shardfeed/shuffle"
)

const maxSlots = 1 << 16 // of a ring; more is a mistake

// Validate lists all problems, each an [OptionError]. It opens no file and asks no server.
func (s Spec) Validate() error {
	_, err := s.parse()
	return err
}

// parse returns the data set's options, without the files of a plan, of shards and of rows. The
// error lists all problems.
func (s Spec) parse() (o iterable.Options, err error) {
	if s.sized() {
		if err := s.validateSized(); err != nil {
			return o, err
		}
		s = s.asSources()
	}
	p := option.List{New: newOptionError}
	s.validateAddresses(&p)
	p.OneOf("Missing", s.Missing, "error", "null")
	p.OneOf("InvalidUTF8", s.InvalidUTF8, "refuse", "replace")
	o = s.options(&p)
	p.Within("LookMemory", s.LookMemory, option.MaxBytes)
	s.validateRefresh(&p)
	s.validateCache(&p)
	_, err = s.drivers()
	p.Join(err)
	p.OneOf("ImageDecoder", s.ImageDecoder, AutoDecoder, TurboDecoder, GoDecoder)
	s.validateBatches(&p)
	s.validatePack(&p)
	s.validateTokenize(&p)
	if s.Bucket != nil && s.BatchSize > 1 {
		p.Add("BatchSize", "must be 1 with {Bucket}, which makes the batches, got %d", s.BatchSize)
	}
	p.Join(o.Validate())
	return o, p.Err()
}

// parsed parses the text of a field, and adds the error to p. "" is the zero value.
func parsed[T any](p *option.List, field, text string, parse func(string) (T, error)) (value T) {
	if text == "" {
		return value
	}
	value, err := parse(text)
	if err != nil {
		p.Add(field, "%v", err)
	}
	return value
}

func newOptionError(field, text string) error { return &OptionError{Field: field, Text: text} }

func (s Spec) validateCache(p *option.List) {
	if _, _, ok := s.policy(); !ok {
		p.Add("CachePolicy", `must be "keep", "keep=" and how long after the last use, as in "keep=7d" or "keep=36h", or "lru", got %q`, s.CachePolicy)
	}
	if s.NoCache && s.RequireCache {
		p.Add("NoCache", "contradicts {RequireCache}")
	}
	_, _, err := s.limitsIn(os.TempDir()) // any directory shows whether they are limits, even on a full disk
	if wrong := (*OptionError)(nil); errors.As(err, &wrong) {
		p.Join(err)
	}
	if s.NoCache && s.DecodedLimit != "" && strings.TrimSpace(s.DecodedLimit) != "0" {
		p.Add("DecodedLimit", "needs a cache, and {NoCache} keeps nothing; leave one of the two out")
	}
}

func (s Spec) validateBatches(p *option.List) {
	p.Join(loader.Options{BatchSize: s.BatchSize, Workers: s.Workers, LocalWorldSize: s.LocalWorldSize, Features: s.features(p), Images: s.Images, Boxes: s.Boxes}.Validate())
	p.Within("Slots", int64(s.Slots), maxSlots)
	s.fills(p)
	s.pads(p)
}

// options returns the options that follow from the spec. A wrong text is a problem, and a zero
// value.
func (s Spec) options(p *option.List) iterable.Options {
	o := iterable.Options{
		Reading: s.Reading(), Order: s.Order, Mixing: s.Mixing, Words: s.Words, Losses: s.Losses, Choice: s.Choice.parsed(), Sources: s.sources(),
		ReadFile: s.readFile, Weight: s.Weight, Pack: s.Pack.options(), Bucket: s.Bucket.options(), Snapshot: s.Snapshot, Tables: s.formats(),
	}
	o.Tail = cmp.Or(s.Tail, shuffle.Short)
	o.Now = parsed(p, "Now", s.Now, parseInstant)
	o.ShuffleBuffer = parsed(p, "ShuffleBuffer", s.ShuffleBuffer, iterable.ParseSize)
	o.Memory = parsed(p, "Memory", s.Memory, size.Bytes)
	return o
}

// Reading returns the columns to read, and how to read them.
func (s Spec) Reading() iterable.Reading {
	return iterable.Reading{
		Columns: s.read(), Strict: s.Strict, MissingIsNull: s.Missing == "null", PartitionTypes: s.PartitionTypes, Declared: s.declared(),
		ReplaceUTF8: s.InvalidUTF8 == "replace", Needed: s.columnTypes(), RowIDs: s.RowIDs, RowKeys: s.Seeds || len(s.Images) > 0,
	}
}

// textReading returns how to read the texts of a column without the data set.
func (s Spec) textReading(column string) rowgroup.Options {
	return rowgroup.Options{Columns: []string{column}, ReplaceUTF8: s.InvalidUTF8 == "replace", Needed: s.columnTypes(), IndexDir: s.Places().Index}
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
	s.Sources = []Source{{Name: shuffle.OnlySource, Addresses: s.Addresses, Weight: 1, Snapshot: s.Snapshot, Choice: s.Choice, RowWeight: s.Weight}}
	s.Addresses, s.Snapshot, s.Choice, s.Weight = nil, "", Choice{}, ""
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

// parseInstant parses Now.
func parseInstant(text string) (time.Time, error) {
	now, err := time.Parse(time.RFC3339, text)
	if err != nil {
		err = fmt.Errorf("must be an instant as in \"2024-01-31T16:30:00Z\", got %q", text)
	}
	return now, err
}

// At returns the spec with its Now in the format of states: the instant that the filters use, by
// default the given one. It stays "" if the filters use neither today() nor now(), or a plan sets
// it. Specs that read the same rows are then equal, whenever they were made.
func (s Spec) At(instant time.Time) Spec {
	if s.Now != "" {
		now, err := parseInstant(s.Now)
		if err != nil {
			return s
		}
		instant = now
	} else if s.Plan != "" || s.SavedPlan != nil {
		return s
	}
	s.Now = ""
	filters := []string{s.Filters}
	for _, of := range s.Sources {
		filters = append(filters, of.Filters)
	}
	for _, text := range filters {
		if e, err := rule.Parse(text); err == nil { // else Open returns the error
			if part := e.Clock(instant); !part.IsZero() {
				s.Now = max(s.Now, part.Format(time.RFC3339))
			}
		}
	}
	return s
}
