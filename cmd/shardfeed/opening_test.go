package main

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"
)

func TestOpeningLine(t *testing.T) {
	var b bytes.Buffer
	o := newOpening(&b)
	for _, step := range []struct {
		do      func()
		columns int
		want    string
	}{
		{func() {}, 80, "list  0 shards"},
		{func() { o.listed(1) }, 80, "list  1 shard"},
		{func() { o.listed(12345) }, 80, "list  12,345 shards"},
		{func() { o.footers(0, 12345) }, 80, "footers  ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░ 0 of 12,345"},
		{func() { o.footers(6173, 12345) }, 80, "footers  ███████████████░░░░░░░░░░░░░░░ 6,173 of 12,345"},
		{func() {}, 40, "footers  ███████░░░░░░░ 6,173 of 12,345"},
		{func() {}, 20, "6,173 of 12,345"},
		{func() { o.counted(5, 10) }, 80, "count rows  ███████████████░░░░░░░░░░░░░░░ 5 of 10"},
	} {
		t.Run(step.want, func(t *testing.T) {
			step.do()
			if got := o.line(step.columns); got != step.want {
				t.Errorf("got %q, want %q", got, step.want)
			}
		})
	}
	o.close()
	o.close()
	if b.Len() > 0 {
		t.Errorf("%q was written to what is no terminal", b.String())
	}
}

// An opening that takes long has one line, which is gone in the end; a quick one has none.
func TestOpeningShows(t *testing.T) {
	for quiet, want := range map[time.Duration]string{
		time.Millisecond: "\rlist  7 shards\x1b[K\r\x1b[K",
		time.Hour:        "",
	} {
		t.Run(quiet.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var b bytes.Buffer
				o := &opening{w: &b, quiet: quiet, closing: make(chan struct{}), done: make(chan struct{})}
				o.listed(7)
				go o.show()
				time.Sleep(openingEvery / 2)
				o.close()
				if b.String() != want {
					t.Errorf("got %q, want %q", b.String(), want)
				}
			})
		})
	}
}
