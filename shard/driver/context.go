package driver

import (
	"context"
	"fmt"
)

// Ended is why ctx ended: context.Canceled or context.DeadlineExceeded, together with the cause
// where the caller gave one; nil while it has not.
func Ended(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if err == nil || cause == err { //nolint:errorlint // the same, not one that wraps it
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
}
