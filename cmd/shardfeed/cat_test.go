package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const shop = "../../testdata/shop"

// What is printed before an unreadable page is right, and the error names the shard as it was
// written.
func TestCatOfDamagedShard(t *testing.T) {
	dir := t.TempDir()
	whole := filepath.Join(shop, "part-00002.parquet") // not compressed, with page checksums
	content, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	_, want, _ := command(t, "cat", whole)
	id := []byte("N00000000700") // in the third row group
	at := bytes.Index(content, id)
	if at < 0 {
		t.Fatal("the shard has no such product")
	}
	content[at+11] ^= 1
	damaged := filepath.Join(dir, "damaged.parquet")
	if err := os.WriteFile(damaged, content, 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := command(t, "cat", damaged)
	if code != exitFailed || strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, "shardfeed: "+damaged+": row group ") {
		t.Errorf("exit %d, stderr %q", code, stderr)
	}
	if code, stdout, again := command(t, "bench", damaged, "--json"); code != exitFailed || stdout != "" || again != stderr {
		t.Errorf("bench: exit %d, stdout %q, stderr %q", code, stdout, again)
	}
	if !strings.HasPrefix(want, stdout) || strings.Count(stdout, "\n") != 160 {
		t.Errorf("%d rows were printed before the damage; right: %t", strings.Count(stdout, "\n"), strings.HasPrefix(want, stdout))
	}
}

// A cancelled run ends with exit code 130 and one line, and prints whole lines only.
func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	out := &cancelling{after: 100_000, cancel: cancel}
	var errs bytes.Buffer
	code := run(ctx, []string{"cat", shop, "--epochs", "1000000"}, strings.NewReader(""), out, &errs)
	if code != exitInterrupted || errs.String() != "shardfeed: interrupted\n" {
		t.Errorf("exit %d, stderr %q", code, errs.String())
	}
	if !bytes.HasSuffix(out.b.Bytes(), []byte("}\n")) {
		t.Error("stdout ends within a line")
	}
}

// cancelling cancels when so many bytes were written.
type cancelling struct {
	b      bytes.Buffer
	after  int
	cancel func()
}

func (c *cancelling) Write(p []byte) (int, error) {
	n, err := c.b.Write(p)
	if c.b.Len() > c.after {
		c.cancel()
	}
	return n, err
}
