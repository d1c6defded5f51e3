package checkpoints

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/shardfeed/shardfeed/audit"
	"github.com/shardfeed/shardfeed/internal/regular"
	"github.com/shardfeed/shardfeed/internal/text"
	"github.com/shardfeed/shardfeed/shuffle"
)

const (
	maxStatesFile = 64 << 20 // bytes of a file with states and other parts of a checkpoint
	maxStateDepth = 64       // of objects and lists around a state
)

// A State is the state of one rank with its records of the audit.
type State struct {
	Name    string // of its file, and its path there
	State   shuffle.State
	Records []audit.Record // at least one
}

// own returns the record that the rank of the state added last.
func (s State) own() audit.Record { return s.Records[len(s.Records)-1] }

// Read reads the states in files, which are of one run.
func Read(patterns []string, key string) ([]State, error) {
	var all []State
	for _, pattern := range patterns {
		names, err := matching(pattern)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			f := statesFile{name: name, key: key}
			if err := f.read(); err != nil {
				return nil, err
			}
			all = append(all, f.states...)
		}
	}
	for _, s := range all[1:] {
		if err := sameRun(all[0], s); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// matching returns the files that a pattern matches, or the one of this name.
func matching(pattern string) ([]string, error) {
	if !strings.ContainsAny(pattern, "*?[") || IsFile(pattern) {
		return []string{pattern}, nil
	}
	names, err := filepath.Glob(pattern)
	switch {
	case err != nil:
		return nil, fmt.Errorf("--state %s is not a pattern: %w", pattern, err)
	case len(names) == 0:
		return nil, fmt.Errorf("%s: no file matches", pattern)
	}
	return names, nil
}

// A statesFile is a file of JSON that holds states at any depth.
type statesFile struct {
	name, key string
	states    []State
}

func (f *statesFile) read() error {
	file, err := regular.Open(f.name)
	if err != nil {
		return regular.Error(err)
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxStatesFile+1))
	if err != nil {
		return regular.Error(err)
	}
	if len(content) > maxStatesFile {
		return fmt.Errorf("%s: more than %d bytes: save the states in files of their own", f.name, maxStatesFile)
	}
	var whole json.RawMessage
	if err := json.Unmarshal(content, &whole); err != nil {
		return fmt.Errorf("%s: not JSON: %w; write what state_dict() returned with json.dump", f.name, err)
	}
	if err := f.find("", whole, 0); err != nil {
		return err
	}
	if len(f.states) == 0 {
		return fmt.Errorf("%s: holds no state%s; it must have what state_dict() returned", f.name, at(f.key))
	}
	return nil
}

// at is a path in a file, for texts.
func at(path string) string {
	if path == "" {
		return ""
	}
	return " at " + path
}

// find adds the states in a value; path leads to it.
func (f *statesFile) find(path string, value json.RawMessage, depth int) error {
	if depth > maxStateDepth {
		return nil
	}
	var list []json.RawMessage
	var object map[string]json.RawMessage
	switch value[0] {
	case '[':
		_ = json.Unmarshal(value, &list) // it is valid
	case '{':
		_ = json.Unmarshal(value, &object)
	}
	if isState(object) && f.wants(path) {
		return f.add(path, object)
	}
	for i, item := range list {
		if err := f.find(join(path, strconv.Itoa(i)), item, depth+1); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if err := f.find(join(path, name), object[name], depth+1); err != nil {
			return err
		}
	}
	return nil
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// wants reports whether the states at a path are to be used.
func (f *statesFile) wants(path string) bool {
	return f.key == "" || path == f.key || strings.HasPrefix(path, f.key+".")
}

// isState reports whether an object has the form of a state_dict, or of the engine's part of one.
func isState(object map[string]json.RawMessage) bool {
	inner := object["shardfeed"]
	return len(inner) > 0 && inner[0] == '{' || object["plan"] != nil && object["position"] != nil
}

// add adds a state.
func (f *statesFile) add(path string, object map[string]json.RawMessage) error {
	s := State{Name: f.name + at(path)}
	inner := object["shardfeed"]
	switch version := object["version"]; {
	case inner == nil:
		return s.without()
	case string(version) != "1":
		return fmt.Errorf("%s: the state must have version 1, got %.20q: it is of another release, or was edited", s.Name, version)
	}
	var err error
	if s.State, err = shuffle.ParseState(inner); err != nil {
		return fmt.Errorf("%s: not a state that this version knows: %w", s.Name, err)
	}
	if records := object["audit"]; records != nil {
		if err := json.Unmarshal(records, &s.Records); err != nil {
			return fmt.Errorf("%s: audit must be a list of records: %w", s.Name, err)
		}
	}
	if len(s.Records) == 0 {
		return s.without()
	}
	f.states = append(f.states, s)
	return nil
}

func (s State) without() error {
	return fmt.Errorf("%s: the state has no records for the audit: use state_dict() of the data set or loader after its first batch; "+
		"batch.state, cat --save-state and torch's own workers do not keep any", s.Name)
}

// sameRun returns an error if two states are not of one run.
func sameRun(a, b State) error {
	x, y := fieldsOfRun(a.State), fieldsOfRun(b.State)
	for _, name := range slices.Sorted(maps.Keys(x)) {
		if string(x[name]) != string(y[name]) {
			return fmt.Errorf("%s: the state has %s %s, and %s has %s: all states must be of one run; --key chooses among several states in a file",
				b.Name, name, value(y[name]), a.Name, value(x[name]))
		}
	}
	return nil
}

// value shows a field's value.
func value(raw json.RawMessage) string {
	if raw == nil {
		return "none"
	}
	return text.Shorten(string(raw), 80)
}

// fieldsOfRun are the fields that do not change in a run.
func fieldsOfRun(s shuffle.State) map[string]json.RawMessage {
	s.Epoch, s.Position = 0, 0
	if s.MixState == nil || s.Batching != shuffle.PerSource {
		s.GlobalBatch = 1
	}
	if s.MixState != nil { // weights and tail may change
		mix := *s.MixState
		mix.Weights, mix.Tail = nil, ""
		s.MixState = &mix
	}
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(s.JSON(), &fields)
	return fields
}

// IsFile reports whether a regular file has this name.
func IsFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}
