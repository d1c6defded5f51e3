package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/shardfeed/shardfeed/internal/engine/wire"
	"github.com/shardfeed/shardfeed/shard"
)

// A lockedBuffer is a log that is read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// secretAddresses are addresses in each way that one can hold a secret.
var secretAddresses = []string{
	"s3://AKIA:hush@data/", "https://h/k?X-Amz-Signature=hush&x=1", "webhdfs://n/k?delegation=hush", "https://h/k?token=hush", "@s3://a:hu sh/hush@b/l",
}

// No secret of an address gets into the log, an error, a note or a warning, at any level.
func TestServeHidesSecrets(t *testing.T) {
	for _, fails := range []bool{false, true} {
		t.Run(fmt.Sprintf("fails %t", fails), func(t *testing.T) {
			var log lockedBuffer
			said := strings.Join(secretAddresses[:4], " and ")
			notes := make(chan func(string), 1)
			stores := wares(t, 1, 70, noImages)
			path := serveWares(t, stores, func(o *Options, d *Data) {
				o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: wire.RedactAttr}))
				o.Open = func(_ context.Context, r Request, _ func(wire.Progress)) (*Data, error) {
					if fails {
						return nil, fmt.Errorf("asked %s: %w", said, &shard.Error{Op: "list", URI: secretAddresses[0], Err: errors.New(said), Hint: said})
					}
					notes <- r.Note
					d := *d
					d.Dataset, d.Warnings = openWares(t, stores, o.Budget), []string{said}
					return &d, nil
				}
			})
			c := dial(t, path)
			opened, err := c.open(wire.Open{Dataset: "d", Spec: wire.Spec{Addresses: secretAddresses}})
			if fails {
				var failure *wire.Failure
				if !errors.As(err, &failure) || strings.Contains(fmt.Sprintf("%+v", *failure), "hush") || !strings.Contains(failure.Text, "***") {
					t.Errorf("error %+v", err)
				}
			} else {
				if err != nil || strings.Contains(strings.Join(opened.Warnings, ""), "hush") {
					t.Errorf("%q, error %v", opened.Warnings, err)
				}
				if _, err := c.join(wire.Join{Iteration: "a"}); err != nil {
					t.Fatal(err)
				}
				(<-notes)(said)
				iterateNotes(t, c)
			}
			c.close()
			if text := log.String(); strings.Contains(text, "hush") || strings.Contains(text, "hu sh") || !strings.Contains(text, "AKIA:***@") {
				t.Errorf("the log has\n%s", text)
			}
		})
	}
}

// iterateNotes reads an iteration, and finds no secret in its frames.
func iterateNotes(t *testing.T, c *testClient) {
	t.Helper()
	for noted := false; ; {
		kind, payload, err := c.next()
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(payload, []byte("hush")) {
			t.Errorf("%v: %s", kind, payload)
		}
		noted = noted || kind == wire.FrameNote
		switch kind {
		case wire.FrameBatch:
			b, err := c.parse(payload)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.release(b); err != nil {
				t.Fatal(err)
			}
		case wire.FrameEnd:
			if !noted {
				t.Error("no note came")
			}
			return
		}
	}
}
