package main

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"runtime/debug"
	"testing"
)

func TestDescribe(t *testing.T) {
	d := describe(&debug.BuildInfo{
		GoVersion: "go1.26.3",
		Main:      debug.Module{Path: "example.com/p", Version: "v1.2.3"},
		Deps: []*debug.Module{
			{Path: "example.com/m", Version: "v0.1.0", Sum: "h1:x="},
			{Path: "example.com/old", Version: "v1.0.0", Replace: &debug.Module{Path: "example.com/new", Version: "v1.0.1"}},
		},
		Settings: []debug.BuildSetting{{Key: "GOOS", Value: "linux"}},
	}, [32]byte{1})
	var refs []string
	for _, c := range d.Components {
		refs = append(refs, c.PURL)
	}
	got, err := json.Marshal(refs)
	if err != nil {
		t.Fatal(err)
	}
	want := `["pkg:golang/std@1.26.3","pkg:golang/example.com/m@v0.1.0","pkg:golang/example.com/new@v1.0.1"]`
	if string(got) != want {
		t.Errorf("components %s, want %s", got, want)
	}
	if p := d.Metadata.Component; p.PURL != "pkg:golang/example.com/p@v1.2.3" || len(p.Hashes[0].Content) != 64 || p.Properties[0].Name != "go:build:GOOS" {
		t.Errorf("program %+v", p)
	}
	if len(d.Dependencies) != 1 || len(d.Dependencies[0].DependsOn) != 3 {
		t.Errorf("dependencies %+v", d.Dependencies)
	}
	if !regexp.MustCompile(`^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(d.Serial) {
		t.Errorf("serial number %s", d.Serial)
	}
}

// The test's own program has an SBOM; a source file is an error.
func TestRun(t *testing.T) {
	var out bytes.Buffer
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := run(&out, self); err != nil || !json.Valid(out.Bytes()) {
		t.Errorf("%v: %s", err, out.String())
	}
	if err := run(&out, "main.go"); err == nil {
		t.Error("a source file has an SBOM")
	}
}
