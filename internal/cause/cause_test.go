package cause

import (
	"context"
	"errors"
	"testing"

	"github.com/shardfeed/shardfeed/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func TestOf(t *testing.T) {
	given, own := errors.New("preempted"), errors.New("closed")
	for _, c := range []struct {
		name             string
		cause            error
		canceled, itself bool
		text             string
	}{
		{"no cause", nil, true, false, "context canceled"},
		{"a user's", given, true, true, "context canceled: preempted"},
		{"the caller's own", own, false, true, "closed"},
		{"a deadline", context.DeadlineExceeded, true, true, "context canceled: context deadline exceeded"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			if err := Of(ctx, own); err != nil {
				t.Errorf("before the end: %v", err)
			}
			cancel(c.cause)
			err := Of(ctx, own)
			if errors.Is(err, context.Canceled) != c.canceled || c.cause != nil && errors.Is(err, c.cause) != c.itself || err.Error() != c.text {
				t.Errorf("got %v", err)
			}
		})
	}
}
