package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/shardfeed/shardfeed"

	"github.com/shardfeed/shardfeed/internal/regular"
)

// A sourcesFile is a flag that names a file of sources.
type sourcesFile struct {
	name string
	list *[]shardfeed.Source
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
		return regular.Error(err)
	}
	f.name, *f.list = name, nil
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
		*f.list = append(*f.list, source)
	}
	f.weigh()
	if _, err := d.Token(); err != nil {
		return notJSON(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more follows after the sources")
	}
	if len(*f.list) == 0 {
		return errors.New("it has no source")
	}
	return nil
}

// weigh gives sources without a weight their default: 1, or 0 if a source sets its samples of an
// epoch.
func (f *sourcesFile) weigh() {
	weight := 1.0
	if slices.ContainsFunc(*f.list, func(s shardfeed.Source) bool { return s.Repeat != 0 || s.Choose != 0 }) {
		weight = 0
	}
	for i, s := range *f.list {
		if math.IsNaN(s.Weight) {
			(*f.list)[i].Weight = weight
		}
	}
}

func (f *sourcesFile) String() string { return f.name }

func (f *sourcesFile) Type() string { return "file" }

// A curriculumFile is a flag that names a file of weights that come later.
type curriculumFile struct {
	name string
	list *[]shardfeed.WeightChange
}

func (f *curriculumFile) Set(name string) error {
	content, err := regular.ReadFile(name)
	if err != nil {
		err = regular.Error(err)
	} else {
		f.name, *f.list = name, nil
		d := json.NewDecoder(bytes.NewReader(content))
		d.DisallowUnknownFields()
		err = notJSON(d.Decode(f.list))
	}
	if err != nil {
		return fmt.Errorf("must be a file with a JSON list of weights that come later, got %s: %w", name, err)
	}
	return nil
}

func (f *curriculumFile) String() string { return f.name }

func (f *curriculumFile) Type() string { return "file" }
