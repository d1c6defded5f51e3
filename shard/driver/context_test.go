package driver_test

import (
	"context"
	"errors"
	"testing"

	"github.com/shardfeed/shardfeed/shard/driver"
)

func TestEnded(t *testing.T) {
	cause := errors.New("enough")
	over, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	plain, stop := context.WithCancel(t.Context())
	stop()
	late, free := context.WithTimeoutCause(t.Context(), 0, cause)
	defer free()
	for _, c := range []struct {
		name string
		ctx  context.Context
		want string
		is   []error
	}{
		{"under way", t.Context(), "", nil},
		{"cancelled", plain, "context canceled", []error{context.Canceled}},
		{"cancelled with a cause", over, "context canceled: enough", []error{context.Canceled, cause}},
		{"late with a cause", late, "context deadline exceeded: enough", []error{context.DeadlineExceeded, cause}},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := driver.Ended(c.ctx)
			if (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
				t.Errorf("error %v", err)
			}
			for _, is := range c.is {
				if !errors.Is(err, is) {
					t.Errorf("error %v is not %v", err, is)
				}
			}
		})
	}
}
