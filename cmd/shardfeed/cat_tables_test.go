package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/snapshot"
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
			args := []string{"cat", address, "--snapshot", version}
			if slices.Contains(want.Columns, "_row_id") { // only read if it is named
				args = append(args, "--columns", strings.Join(want.Columns, ","))
			}
			code, stdout, stderr := command(t, args...)
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

// Verbs name the table, its snapshot and its deleted rows, and words of deleted rows do not count.
func TestVerbsOfTables(t *testing.T) {
	const address, of = "delta+../../testdata/tables/delta/vectors", "Delta cd204443-d9e3-40f0-a203-aea19faf82ca, snapshot 3 of 2026-11-29T01:51:39Z; 6 rows deleted in 3 files and left out, by deletion vectors"
	for _, verb := range []string{"schema", "count", "inspect", "plan", "doctor"} {
		code, stdout, stderr := command(t, verb, address, "--snapshot", "3")
		if code != 0 || !strings.Contains(stdout+stderr, of) {
			t.Errorf("%s: exit %d, %s%s", verb, code, stdout, stderr)
		}
	}
	for _, verb := range []string{"schema", "count", "inspect", "plan"} {
		code, stdout, stderr := command(t, verb, address, "--snapshot", "3", "--json")
		var got struct{ Table snapshot.Table }
		if err := json.Unmarshal([]byte(stdout), &got); code != 0 || err != nil || got.Table.String() != of {
			t.Errorf("%s: exit %d, %v, %s: %v", verb, code, err, stderr, got.Table)
		}
	}
	for name, by := range map[string]string{"v2": "position deletes", "v3": "deletion vectors", "eq": "equality deletes"} {
		iceberg := "iceberg+" + icebergTable(t, name)
		for _, verb := range []string{"schema", "count", "inspect", "plan", "doctor"} {
			code, stdout, stderr := command(t, verb, iceberg)
			if said := stdout + stderr; code != 0 || !strings.Contains(said, "Iceberg ") || !strings.Contains(said, ", snapshot ") || !strings.Contains(said, by) {
				t.Errorf("%s of %s: exit %d, %s", verb, name, code, said)
			}
		}
	}
	for _, verb := range []string{"schema", "count", "inspect", "plan", "doctor"} {
		code, stdout, stderr := command(t, verb, "delta+../../testdata/tables/delta/tracked")
		if said := stdout + stderr; code != 0 || !strings.Contains(said, "rows have ids, in the column _row_id") {
			t.Errorf("%s of row ids: exit %d, %s", verb, code, said)
		}
	}
	want := map[string]int64{}
	for _, row := range versionOf(t, "vectors", "3") {
		want[row["text"].(string)]++
	}
	code, stdout, stderr := command(t, "vocab", address, "--snapshot", "3", "--column", "text", "--min-count", "1", "--json")
	var got vocabulary
	if err := json.Unmarshal([]byte(stdout), &got); code != 0 || err != nil || len(got.Words) != len(want) {
		t.Fatalf("exit %d, %v, %s: %d words, want %d", code, err, stderr, len(got.Words), len(want))
	}
	for i, word := range got.Words {
		if got.Counts[i] != want[word] {
			t.Errorf("%q: %d times, want %d", word, got.Counts[i], want[word])
		}
	}
}

// versionOf are the rows of a version of a table as cat prints them, without nulls in column text.
func versionOf(t *testing.T, name, version string) (rows []map[string]any) {
	t.Helper()
	code, stdout, stderr := command(t, "cat", "delta+../../testdata/tables/delta/"+name, "--snapshot", version, "--columns", "text", "--where", "text is not null")
	if code != 0 {
		t.Fatal(code, stderr)
	}
	for line := range strings.Lines(stdout) {
		var row map[string]any
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows
}

// A column of a type that cannot be read leaves the others readable, and is refused by name.
func TestUnreadableColumn(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../testdata/tables/delta/rs")); err != nil {
		t.Fatal(err)
	}
	logs, err := filepath.Glob(filepath.Join(dir, "_delta_log", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range logs {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		changed := strings.ReplaceAll(string(text), `\"fields\":[`, `\"fields\":[{\"name\":\"doc\",\"type\":\"variant\",\"nullable\":true,\"metadata\":{}},`)
		if err := os.WriteFile(name, []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const note = `column "doc" has the type "variant", which cannot be read`
	code, stdout, stderr := command(t, "schema", "delta+"+dir, "--snapshot", "3")
	if code != 0 || !strings.Contains(stdout, "doc     variant") || !strings.Contains(stderr, note+", and is left out") {
		t.Errorf("exit %d, %s%s", code, stdout, stderr)
	}
	code, _, stderr = command(t, "cat", "delta+"+dir, "--snapshot", "3", "--columns", "id")
	if code != 0 || strings.Contains(stderr, note) {
		t.Errorf("exit %d, %s", code, stderr)
	}
	for _, args := range [][]string{{"--columns", "id,doc"}, {"--columns", "d*"}, {"--columns", "id", "--where", "doc is not null"}} {
		code, _, stderr = command(t, append([]string{"cat", "delta+" + dir, "--snapshot", "3"}, args...)...)
		if code == 0 || !strings.Contains(stderr, note+" (leave the column out)") {
			t.Errorf("%v: exit %d, %s", args, code, stderr)
		}
	}
}
