package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/shuffle"
)

func plainState() shuffle.State {
	return shuffle.State{
		Format: 1, Plan: shuffle.Sequential, Epoch: 3, Position: 17, Rows: 100, GlobalBatch: 1, Manifest: strings.Repeat("0", 64),
	}
}

func stateFile(name string) saveFile {
	return saveFile{flag: "save-state", name: name, kind: stateKind()}
}

func TestStateFile(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "state.json")
	for _, position := range []int64{17, 18} { // the second replaces the first
		state := plainState()
		state.Position = position
		if err := stateFile(name).writeState(t.Context(), state); err != nil {
			t.Fatal(err)
		}
		got, err := readState(name)
		if err != nil || *got != state {
			t.Fatalf("got %+v, %v", got, err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("%d files are left, %v", len(entries), err)
	}
	info, err := os.Stat(name)
	if err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// A state that cannot be put in its place leaves nothing behind.
func TestStateFileFails(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "taken")
	if err := os.MkdirAll(filepath.Join(name, "inside"), 0o755); err != nil {
		t.Fatal(err)
	}
	err := stateFile(name).writeState(t.Context(), plainState())
	if err == nil || !strings.HasPrefix(err.Error(), name+": ") {
		t.Errorf("got %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%d files, %v", len(entries), err)
	}
	name = filepath.Join(dir, "nowhere", "state")
	if err := stateFile(name).writeState(t.Context(), plainState()); err == nil || !strings.HasPrefix(err.Error(), name+": ") {
		t.Errorf("got %v", err)
	}
}
