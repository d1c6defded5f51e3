package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/top"
	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/watch"
)

// runTop runs top with these arguments and returns what it prints.
func runTop(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, err strings.Builder
	code = run(t.Context(), append([]string{"top", "--every", "100ms"}, args...), strings.NewReader(""), &out, &err)
	return out.String(), err.String(), code
}

// top finds an engine by the directory of engines, and shows its work.
func TestTopOfRun(t *testing.T) {
	socket := served(t)
	t.Setenv("SHARDFEED_RUNTIME_DIR", filepath.Dir(socket))
	r := readerOf(t, socket, shopSpec(t))
	r.epoch("1", 1, 2)
	stdout, stderr, code := runTop(t, "--json")
	var v watch.View
	if err := json.Unmarshal([]byte(stdout), &v); err != nil || code != 0 || stderr != "" {
		t.Fatalf("%d, %s, %v", code, stderr, err)
	}
	found := false
	for _, e := range v.Engines {
		if e.Socket == socket {
			found = true
			s := e.Now.Sessions[0]
			if s.Rows != 1013 || s.Rank != 1 || s.Iterating || e.Rates.Rows != 0 || len(e.Rates.Sessions) != 1 {
				t.Errorf("got %+v, %+v", s, e.Rates)
			}
		}
	}
	if !found {
		t.Errorf("the engine is not in %s", stdout)
	}
	stdout, stderr, code = runTop(t, "--once", "--socket", socket)
	if code != 0 || stderr != "" || strings.Contains(stdout, "\x1b") || !strings.Contains(stdout, fmt.Sprintf("engine %d", os.Getpid())) || !strings.Contains(stdout, "idle") {
		t.Errorf("%d, %s, %s", code, stderr, stdout)
	}
}

// Without an engine there is one sentence.
func TestTopWithoutEngine(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none.sock")
	stdout, _, code := runTop(t, "--once", "--socket", none)
	if code != exitFailed || !strings.Contains(stdout, "no engine listens there: there is no such file") {
		t.Errorf("%d, %s", code, stdout)
	}
	a := &app{stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard}
	if err := a.showOnce(watch.View{}, &topCommand{}); err == nil || err.Error() != top.NoEngine {
		t.Errorf("error %v", err)
	}
	for _, args := range [][]string{{}, {"--every", "1ms", "--once"}, {"x"}} {
		if _, stderr, code := runTop(t, args...); code != exitUsage || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%q: %d, %s", args, code, stderr)
		}
	}
}

func TestSpeaksUTF8(t *testing.T) {
	for locale, want := range map[string]bool{"": true, "C.UTF-8": true, "de_DE.utf8": true, "C": false, "POSIX": false, "en_US.ISO-8859-1": false} {
		if got := speaksUTF8(func(name string) string { return map[string]string{"LANG": locale}[name] }); got != want {
			t.Errorf("%q: %v", locale, got)
		}
	}
}
