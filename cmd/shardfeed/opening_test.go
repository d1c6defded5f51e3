package main

import (
	"bytes"
	"testing"
)

func TestOpeningLine(t *testing.T) {
	var b bytes.Buffer
	o := newOpening(&b)
	for _, step := range []struct {
		do   func()
		want string
	}{
		{func() {}, "list  0 shards"},
		{func() { o.listed(1) }, "list  1 shard"},
		{func() { o.listed(12345) }, "list  12,345 shards"},
		{func() { o.footers(0, 12345) }, "footers  ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░ 0 of 12,345"},
		{func() { o.footers(6173, 12345) }, "footers  ███████████████░░░░░░░░░░░░░░░ 6,173 of 12,345"},
	} {
		step.do()
		if got := o.line(); got != step.want {
			t.Errorf("got %q, want %q", got, step.want)
		}
	}
	o.close()
	o.close()
	if b.Len() > 0 {
		t.Errorf("%q was written to what is no terminal", b.String())
	}
}
