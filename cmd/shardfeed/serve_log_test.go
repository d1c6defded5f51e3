package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// The log of serve has no secrets of addresses, in messages, errors, lists and what a logger
// carries.
func TestServeLogHidesSecrets(t *testing.T) {
	var b bytes.Buffer
	log, done, err := (&serveCommand{level: "debug"}).logger(&b)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	const address = "s3://AKIA:hush@bucket/key"
	log = log.With("from", address).WithGroup("group")
	log.Debug("asked "+address, "error", errors.New("open "+address), "addresses", []string{address, "@" + address}, "none", nil, "rows", 3)
	if text := b.String(); strings.Contains(text, "hush") || strings.Count(text, "AKIA:***@") != 5 || !strings.Contains(text, "group.rows=3") {
		t.Errorf("got %s", text)
	}
}
