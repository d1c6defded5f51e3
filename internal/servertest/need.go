package servertest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// serversVar selects the servers that tests may start: "off" for no servers, "minio" for MinIO
// instead of every S3 server.
const serversVar = "SHARDFEED_SERVERS"

// Need returns the path of an installed server from tools/server, and skips or fails the test if it
// is missing.
func Need(t testing.TB, name string) string {
	t.Helper()
	if os.Getenv(serversVar) == "off" {
		t.Skip(serversVar + "=off: no server is started")
	}
	path, missing := find(moduleRoot(t), name)
	if missing == "" {
		return path
	}
	// MinIO is a second opinion, only on request.
	if os.Getenv("CI") == "true" && (name != "minio" || minioOnly()) {
		t.Fatalf("CI=true and %s", missing)
	}
	t.Skip(missing)
	return ""
}

func minioOnly() bool { return os.Getenv(serversVar) == "minio" }

// find asks tools/server for a server's path; missing is its message if there is no server.
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
