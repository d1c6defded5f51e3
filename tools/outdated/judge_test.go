package main

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestJudge(t *testing.T) {
	now := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	listed := func(version, time, rest string) string {
		return `{"Path": "example.com/m", "Version": "` + version + `", "Time": "` + time + `T00:00:00Z"` + rest + `}`
	}
	const newer = `, "Update": {"Path": "example.com/m", "Version": "v0.58.0"}`
	for _, test := range []struct{ name, listed, want string }{
		{"current", listed("v0.58.0", "2026-10-09", ""), ""},
		{"old and finished", listed("v0.58.0", "2013-10-09", ""), ""},
		{"a newer one since last week", listed("v0.57.0", "2026-10-09", newer), ""},
		{"over a year old", listed("v0.57.0", "2025-11-01", newer), "is of 2025-11-01; the newest is v0.58.0"},
		{"ten minor versions behind", listed("v0.48.0", "2026-10-09", newer), "is far behind v0.58.0"},
		{"another major version", listed("v1.2.0", "2026-10-09", newer), ""},
		{"retracted", listed("v0.58.0", "2026-10-09", `, "Retracted": ["broken"]`), "is retracted: broken"},
		{"deprecated", listed("v0.58.0", "2026-10-09", `, "Deprecated": "use n"`), "is deprecated: use n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			modules, err := decode(strings.NewReader(test.listed))
			if err != nil {
				t.Fatal(err)
			}
			findings, _ := judge(modules, nil, now)
			got := strings.Join(findings, "\n")
			if (test.want == "") != (got == "") || !strings.HasSuffix(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
			m := modules[0]
			findings, allowed := judge(modules, map[string]string{m.Path + "@" + m.Version: "a reason"}, now)
			if len(findings) > 0 || (test.want != "") != (len(allowed) == 1) {
				t.Errorf("with an exception: findings %q, allowed %q", findings, allowed)
			}
		})
	}
}

func TestReadExceptions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "outdated.txt")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("# why\n\nexample.com/m v1.2.3 needs a newer Go\n")
	got, err := readExceptions(path)
	if want := map[string]string{"example.com/m@v1.2.3": "needs a newer Go"}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	write("example.com/m v1.2.3\n")
	if _, err := readExceptions(path); err == nil || !strings.Contains(err.Error(), "outdated.txt:1: want module, version and reason") {
		t.Errorf("a line without a reason: %v", err)
	}
}

// Without a proxy the check says that it checked nothing, and does not fail.
func TestWithoutProxy(t *testing.T) {
	var out bytes.Buffer
	const listed = `{"Path": "example.com/m", "Error": {"Err": "connection refused"}}`
	old, err := run(strings.NewReader(listed), &out, "")
	if err != nil || old != 0 {
		t.Fatalf("%d findings, %v", old, err)
	}
	if got := out.String(); !strings.Contains(got, "SKIPPED, nothing was checked") || !strings.Contains(got, "connection refused") {
		t.Errorf("printed %q", got)
	}
}
