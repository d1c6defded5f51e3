package timeline

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func put(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

type merged struct {
	Base   int64 `json:"baseTimeNanoseconds"`
	Events []struct {
		Name, Ph string
		PID      any
		ID       int64
		TS       json.Number
		Args     map[string]any
	} `json:"traceEvents"`
}

func merge(t *testing.T, paths ...string) (m merged) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out.json")
	n, err := Merge(out, paths...)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &m); err != nil || len(m.Events) != n {
		t.Fatalf("%v: %s has not %d events", err, text, n)
	}
	return m
}

func TestMergeMovesTimes(t *testing.T) {
	one := put(t, "one.json", `{"baseTimeNanoseconds": 1000, "traceEvents": [{"ph":"X","name":"a","pid":7,"ts":5.250,"dur":1,"args":{"rows":3}}]}`)
	two := put(t, "two.json", `{"traceEvents": [{"ph":"X","name":"b","pid":7,"ts":2}, {"ph":"M","name":"c","pid":7,"ts":0}], "baseTimeNanoseconds": 3500}`)
	bare := put(t, "bare.json", `[{"ph":"X","name":"d","pid":7,"ts":1.5}]`)
	m := merge(t, one, two)
	if m.Base != 1000 || m.Events[0].TS != "5.250" || m.Events[1].TS != "4.500" || m.Events[2].TS != "0" || m.Events[0].Args["rows"] != 3.0 {
		t.Errorf("merged: %+v", m)
	}
	if m := merge(t, two, bare); m.Base != 0 || m.Events[0].TS != "5.500" || m.Events[2].TS != "1.5" {
		t.Errorf("merged with one without a base: %+v", m)
	}
}

func TestMergeKeepsRanksApart(t *testing.T) {
	text := func(rank string) string {
		return `{` + rank + `"host_name": "a", "traceEvents": [{"ph":"X","pid":7,"ts":1},{"ph":"s","pid":"Spans","id":9,"ts":1}]}`
	}
	of := func(rank string) string { return put(t, "x.json", text(`"distributedInfo": {"rank": `+rank+`}, `)) }
	m := merge(t, of("0"), put(t, "y.json", text("")), of("1"), of("1"))
	var pids []any
	var ids []int64
	for _, e := range m.Events {
		if pids = append(pids, e.PID); e.Ph == "s" {
			ids = append(ids, e.ID)
		}
	}
	want := []any{7.0, "Spans", 7.0, "Spans", 100_000_007.0, "Spans 1", 100_000_007.0, "Spans 1"}
	for i := range want {
		if pids[i] != want[i] {
			t.Fatalf("processes are %v, want %v", pids, want)
		}
	}
	if ids[0] != 9 || ids[1] != 9 || ids[2] != 9+1<<40 || ids[3] != ids[2] {
		t.Errorf("ids are %v", ids)
	}
}

func TestMergeReadsAndWritesGzip(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(`{"traceEvents": []}`))
	z.Close()
	in, out := put(t, "in.json.gz", b.String()), filepath.Join(t.TempDir(), "out.json.gz")
	for range 2 { // replaces it
		if _, err := Merge(out, in, put(t, "x.json", `[{"ph":"X","ts":1}]`)); err != nil {
			t.Fatal(err)
		}
	}
	f := &file{path: out}
	n := 0
	if err := f.read(func(event) error { n++; return nil }); err != nil || n != 1 {
		t.Errorf("%d events, %v", n, err)
	}
}

func TestMergeRefuses(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"cut":    {`{"traceEvents": [{"ph":"X"}`, "not a whole trace"},
		"other":  {`{"a": 1}`, "no traceEvents"},
		"text":   {`hello`, "not a whole trace"},
		"number": {`3`, "starts with 3"},
		"empty":  {``, "unexpected EOF"},
		"gzip":   {"\x1f\x8b\x08", "unexpected EOF"},
		"object": {`{"traceEvents": {}}`, "{ in place of ["},
		"event":  {`[3]`, "not a whole trace"},
		"head":   {`{"traceEvents": [], "baseTimeNanoseconds": "x"}`, "baseTimeNanoseconds"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			_, err := Merge(filepath.Join(dir, "out.json"), put(t, "in.json", c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "in.json") {
				t.Errorf("error %v, want %q", err, c.want)
			}
			if left, _ := os.ReadDir(dir); len(left) > 0 {
				t.Errorf("it left %v", left)
			}
		})
	}
	in := put(t, "in.json", `[]`)
	if _, err := Merge(in, in); err == nil || !strings.Contains(err.Error(), "overwritten") {
		t.Errorf("onto itself: %v", err)
	}
}
