package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/table/tabletest"
)

// The commands read each version of tables as their writers do.
func TestCatDeltaTables(t *testing.T) {
	files, err := filepath.Glob("../../testdata/tables/delta/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var versions map[string]tabletest.Written
		if err := json.Unmarshal(text, &versions); err != nil {
			t.Fatal(err)
		}
		address := "delta+" + strings.TrimSuffix(file, ".json")
		for version, want := range versions {
			name := filepath.Base(address) + " at version " + version
			code, stdout, stderr := command(t, "cat", address, "--snapshot", version)
			if code != 0 {
				t.Errorf("%s: exit %d, %s", name, code, stderr)
				continue
			}
			tabletest.Compare(t, name, tabletest.Parse(t, stdout), want.Lines(t))
			code, stdout, stderr = command(t, "count", address, "--snapshot", version)
			if code != 0 || stdout != fmt.Sprintln(len(want.Rows)) {
				t.Errorf("%s: count: exit %d, %q, %s", name, code, stdout, stderr)
			}
		}
	}
}
