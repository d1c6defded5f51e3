package main

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// scriptJSON is "json KEY...": stdout is exactly one JSON object on one line, with these keys and
// no others. With "json KEY=VALUE" the key's value must print as VALUE; then other keys may exist.
func scriptJSON(ts *testscript.TestScript, neg bool, args []string) {
	out := ts.ReadFile("stdout")
	if strings.Count(out, "\n") != 1 || !strings.HasSuffix(out, "\n") {
		ts.Fatalf("stdout is not one line:\n%s", out)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(out), &object); err != nil {
		ts.Fatalf("stdout is no JSON object: %v\n%s", err, out)
	}
	var keys []string
	for _, arg := range args {
		key, want, hasValue := strings.Cut(arg, "=")
		if !hasValue {
			keys = append(keys, key)
			continue
		}
		if got := string(object[key]); (got == want) == neg {
			ts.Fatalf("%s is %s, want %s", key, got, want)
		}
	}
	if len(keys) == 0 {
		return
	}
	var have []string
	for key := range object {
		have = append(have, key)
	}
	slices.Sort(keys)
	slices.Sort(have)
	if !slices.Equal(keys, have) {
		ts.Fatalf("keys are %q, want %q", have, keys)
	}
}

// scriptLines is "lines FILE N": the file, or stdout, has N whole lines.
func scriptLines(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: lines FILE N")
	}
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	content := ts.ReadFile(args[0])
	if content != "" && !strings.HasSuffix(content, "\n") {
		ts.Fatalf("%s ends within a line", args[0])
	}
	if got := strings.Count(content, "\n"); (got == want) == neg {
		ts.Fatalf("%s has %d lines", args[0], got)
	}
}
