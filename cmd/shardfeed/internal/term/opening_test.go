package term

import (
	"bytes"
	"testing"
	"time"
)

func TestOpeningElsewhere(t *testing.T) {
	var b bytes.Buffer
	o := NewOpening(&b)
	if o.Footers(3, 3); o.Counting() != 0 {
		t.Error("rows were counted")
	}
	o.Counted(5, 10)
	time.Sleep(time.Millisecond)
	if o.Counting() <= 0 {
		t.Error("no time to count")
	}
	o.Close()
	o.Close()
	if b.Len() > 0 {
		t.Errorf("%q was written to what is no terminal", b.String())
	}
}
