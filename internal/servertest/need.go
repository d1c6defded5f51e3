package servertest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Need returns the path that tools/server prints for a server that is installed, and skips or fails the test where it is not.
func Need(t testing.TB, name string) string {
	t.Helper()
	if os.Getenv("SHARDFEED_SERVERS") == "off" {
		t.Skip("SHARDFEED_SERVERS=off: no server is started")
	}
	path, missing := find(moduleRoot(t), name)
	if missing == "" {
		return path
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("CI=true and %s", missing)
	}
	t.Skip(missing)
	return ""
}

// find asks tools/server for a server's path; missing is its line when there is none.
func find(root, name string) (path, missing string) {
	var said bytes.Buffer
	cmd := exec.Command(filepath.Join(root, "tools", "server"), "-n", name)
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		if line := strings.TrimSpace(said.String()); line != "" {
			return "", line
		}
		return "", name + ": " + err.Error()
	}
	return strings.TrimSpace(string(out)), ""
}

// moduleRoot is the directory of go.mod, at or above the directory of the test.
func moduleRoot(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return at
		}
		if at == filepath.Dir(at) {
			t.Fatalf("no go.mod at or above %s", dir)
		}
	}
}
