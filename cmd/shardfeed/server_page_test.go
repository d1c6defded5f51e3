package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/internal/servertest"
)

// page serves the page of an engine until the test's end, and returns its address.
func pageOf(t *testing.T, socket string) (url string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, printed := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"page", "--socket", socket, "--every", "100ms"}, strings.NewReader(""), printed, io.Discard)
	}()
	t.Cleanup(func() {
		cancel()
		if code := <-ended; code != exitInterrupted {
			t.Errorf("page ended with %d", code)
		}
	})
	line := make([]byte, 200)
	n, err := out.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(line[:n]))
}

// In a browser the page shows the engine's work, on a desktop and on a phone, without an error and
// without another server. PAGE_SHOTS names a directory for its screenshots.
func TestServerPageInBrowser(t *testing.T) {
	browser := servertest.Need(t, "browser")
	socket := served(t)
	url := pageOf(t, socket)
	readerOf(t, socket, shopSpec(t)).epoch("1", 1, 2)
	shots := os.Getenv("PAGE_SHOTS")
	if shots == "" {
		shots = t.TempDir()
	}
	show := exec.Command("node", filepath.Join(browser, "show.mjs"), url, shots)
	var problems bytes.Buffer
	show.Stderr = &problems
	out, err := show.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, problems.String())
	}
	widths := 0
	for line := range strings.Lines(string(out)) {
		var shown struct {
			Width          int
			Errors, Others []string
			State, Text    string
			Charts         int
			Wide           bool
		}
		if err := json.Unmarshal([]byte(line), &shown); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		widths++
		if len(shown.Errors)+len(shown.Others) > 0 || shown.Wide || shown.Charts < 3 || !strings.HasPrefix(shown.State, "1 engine,") {
			t.Errorf("at %d: %+v", shown.Width, shown)
		}
		for _, want := range []string{"rows per second", "memory in use", "shop", "rank"} {
			if !strings.Contains(shown.Text, want) {
				t.Errorf("at %d the page does not show %q: %s", shown.Width, want, shown.Text)
			}
		}
		if info, err := os.Stat(filepath.Join(shots, map[int]string{1440: "1440.png", 390: "390.png"}[shown.Width])); err != nil || info.Size() < 5000 {
			t.Errorf("the screenshot at %d: %v", shown.Width, err)
		}
	}
	if widths != 2 {
		t.Errorf("%d widths", widths)
	}
}
