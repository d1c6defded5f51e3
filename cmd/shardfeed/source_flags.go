package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"

	"github.com/shardfeed/shardfeed"
)

// sourceFlags say what is mixed.
type sourceFlags struct {
	sources    sourcesFile
	stop       string
	epochSize  int64
	curriculum curriculumFile
}

// mixture registers the flags of several sources.
func (f *sourceFlags) mixture(fs *pflag.FlagSet) {
	group(fs, sourcesGroup, func(fs *pflag.FlagSet) {
		fs.Var(&f.sources, "sources", "read several data sets by weight, in place of addresses: a JSON `file` of objects by name, as in {\"web\": {\"addresses\": [\"web/\"], \"weight\": 7}}")
		fs.StringVar(&f.stop, "stop", "", "end an epoch when the first source has given all its rows, or when all have: first or all (default: first)")
		fs.Int64Var(&f.epochSize, "epoch-size", 0, "samples of an epoch (default: by --stop)")
		fs.Var(&f.curriculum, "curriculum", "weights that come later: a JSON `file` as in [{\"from\": 1000000, \"weights\": {\"web\": 3}}]; it needs --epoch-size")
	})
}

// mixed adds the sources to a spec.
func (f *sourceFlags) mixed(s *shardfeed.Spec) {
	s.Sources, s.Stop, s.EpochSize, s.Curriculum = f.sources.list, f.stop, f.epochSize, f.curriculum.list
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
	content, err := os.ReadFile(name)
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
		source := shardfeed.Source{Weight: 1}
		if err := d.Decode(&source); err != nil {
			return fmt.Errorf("source %q: %w", t, notJSON(err))
		}
		if source.Repeat != 0 || source.Choose != 0 {
			source.Weight = 0
		}
		source.Name = fmt.Sprint(t)
		f.list = append(f.list, source)
	}
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

func (f *sourcesFile) String() string { return f.name }

func (f *sourcesFile) Type() string { return "file" }

// A curriculumFile is a flag that names a file of weights that come later.
type curriculumFile struct {
	name string
	list []shardfeed.WeightChange
}

func (f *curriculumFile) Set(name string) error {
	content, err := os.ReadFile(name)
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
