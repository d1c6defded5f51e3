package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/spf13/pflag"

	"github.com/shardfeed/shardfeed"

	"github.com/shardfeed/shardfeed/internal/regular"
)

// sourceFlags say what is mixed.
type sourceFlags struct {
	sources    sourcesFile
	stop       string
	epochSize  int64
	curriculum curriculumFile
	inFiles    bool // of a verb without an order
	batching   string
	weightsIn  string
	tokens     string
}

// several registers the flag that names several sources.
func (f *sourceFlags) several(fs *pflag.FlagSet) {
	group(fs, sourcesGroup, func(fs *pflag.FlagSet) {
		fs.Var(&f.sources, "sources", "read several data sets by weight, in place of addresses: a JSON `file` of objects by name, as in {\"web\": {\"addresses\": [\"web/\"], \"weight\": 7}}")
	})
}

// inFileOrder registers it for a verb that mixes nothing.
func (f *sourceFlags) inFileOrder(fs *pflag.FlagSet) {
	f.inFiles = true
	f.several(fs)
}

// mixture registers the flags of several sources.
func (f *sourceFlags) mixture(fs *pflag.FlagSet) {
	f.several(fs)
	group(fs, sourcesGroup, func(fs *pflag.FlagSet) {
		fs.StringVar(&f.stop, "stop", "", "end an epoch when the first source has given all its rows, or when all have: first or all (default: first)")
		fs.Int64Var(&f.epochSize, "epoch-size", 0, "samples of an epoch, for sources or addresses; epochs continue passes over the rows (default: all rows, or by --stop)")
		fs.Var(&f.curriculum, "curriculum", "weights that come later: a JSON `file` as in [{\"from\": 1000000, \"weights\": {\"web\": 3}}]; it needs --epoch-size")
		fs.StringVar(&f.weightsIn, "weights-in", "", "what weights are in: samples or tokens (default: samples)")
		fs.StringVar(&f.tokens, "tokens", "", "the list `column` whose items are tokens, for --weights-in tokens (default: that of --bucket, or the one list column)")
	})
}

// batches registers the flag that says how steps are made of sources.
func (f *sourceFlags) batches(fs *pflag.FlagSet) {
	group(fs, sourcesGroup, func(fs *pflag.FlagSet) {
		fs.StringVar(&f.batching, "batching", "", "stratified: each step has all sources; per_source: each step is of one (default: stratified)")
	})
}

// mixed adds the sources to a spec.
func (f *sourceFlags) mixed(s *shardfeed.Spec) {
	s.Sources, s.Stop, s.EpochSize, s.Curriculum = f.sources.list, f.stop, f.epochSize, f.curriculum.list
	s.Batching, s.WeightsIn, s.Tokens = f.batching, f.weightsIn, f.tokens
	if f.inFiles && len(s.Sources) > 0 {
		s.Shuffle = true // sources have no other order, and none is asked for
	}
}

// A sourcesFile is a flag that names a file of sources.
type sourcesFile struct {
	name string
	list []shardfeed.Source
}

// Set reads the file. The sources are in the order of the file.
func (f *sourcesFile) Set(name string) error {
	if err := f.read(name); err != nil {
		return fmt.Errorf("must be a file with a JSON object of sources by name, got %s: %w", name, err)
	}
	return nil
}

func (f *sourcesFile) read(name string) error {
	content, err := regular.ReadFile(name)
	if err != nil {
		return fileError(err)
	}
	f.name, f.list = name, nil
	d := json.NewDecoder(bytes.NewReader(content))
	d.DisallowUnknownFields()
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return errors.New("it is no object")
	}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return notJSON(err)
		}
		source := shardfeed.Source{Weight: math.NaN()} // until the file says one
		if err := d.Decode(&source); err != nil {
			return fmt.Errorf("source %q: %w", t, notJSON(err))
		}
		source.Name = fmt.Sprint(t)
		f.list = append(f.list, source)
	}
	f.weigh()
	if _, err := d.Token(); err != nil {
		return notJSON(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more follows after the sources")
	}
	if len(f.list) == 0 {
		return errors.New("it has no source")
	}
	return nil
}

// weigh gives sources without a weight their default: 1, or none where a source says how many
// samples of it an epoch has.
func (f *sourcesFile) weigh() {
	weight := 1.0
	if slices.ContainsFunc(f.list, func(s shardfeed.Source) bool { return s.Repeat != 0 || s.Choose != 0 }) {
		weight = 0
	}
	for i := range f.list {
		if math.IsNaN(f.list[i].Weight) {
			f.list[i].Weight = weight
		}
	}
}

func (f *sourcesFile) String() string { return f.name }

func (f *sourcesFile) Type() string { return "file" }

// A curriculumFile is a flag that names a file of weights that come later.
type curriculumFile struct {
	name string
	list []shardfeed.WeightChange
}

func (f *curriculumFile) Set(name string) error {
	content, err := regular.ReadFile(name)
	if err != nil {
		err = fileError(err)
	} else {
		f.name, f.list = name, nil
		d := json.NewDecoder(bytes.NewReader(content))
		d.DisallowUnknownFields()
		err = notJSON(d.Decode(&f.list))
	}
	if err != nil {
		return fmt.Errorf("must be a file with a JSON list of weights that come later, got %s: %w", name, err)
	}
	return nil
}

func (f *curriculumFile) String() string { return f.name }

func (f *curriculumFile) Type() string { return "file" }
