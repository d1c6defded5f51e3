//go:build unix

package main

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestNamedPipes: a named pipe in place of any file that a flag names is one error, at once.
func TestNamedPipes(t *testing.T) {
	quietHome(t)
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"cat", shop, "--plan", pipe},
		{"cat", shop, "--manifest", pipe},
		{"cat", shop, "--rows", pipe},
		{"cat", shop, "--state", pipe},
		{"cat", "--sources", pipe},
		{"cat", shop, "--where", "title in @" + pipe},
		{"cat", pipe},
		{"cat", "@" + pipe},
		{"cat", shop, "--storage-option", "@" + pipe},
	} {
		code, _, stderr := command(t, args...)
		if code == 0 || !strings.Contains(stderr, pipe) || !strings.Contains(stderr, "pipe") && !strings.Contains(stderr, "neither a file nor a directory") {
			t.Errorf("%q: exit %d, %q", args, code, stderr)
		}
	}
}
