package main

import (
	"errors"
	"fmt"
	"testing"
)

// gone is an error of a device that answers nothing else any more, or one of its other errors.
type gone struct{ lost bool }

func (g *gone) Error() string { return fmt.Sprintf("the device's (%v)", g.lost) }
func (g *gone) Lost() bool    { return g.lost }

func TestLost(t *testing.T) {
	device, other := &gone{true}, &gone{false}
	first := fmt.Errorf("step 3: %w", device)
	for _, c := range []struct{ err, want error }{
		{errors.Join(errors.Join(first, device), device), first},
		{errors.Join(first), first},
		{first, first},
		{fmt.Errorf("%w after %w", first, device), nil},
		{errors.Join(other, other), nil},
		{errors.Join(errors.New("unlike"), errors.New("these")), nil},
	} {
		t.Run(fmt.Sprintf("%q", c.err), func(t *testing.T) {
			if c.want == nil {
				c.want = c.err
			}
			if got := lost(c.err); got != c.want {
				t.Errorf("of %q\nthe reason is %q\nwant %q", c.err, got, c.want)
			}
		})
	}
}
