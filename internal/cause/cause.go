// Package cause says why a context ended, in one error.
package cause

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Of is the cause of ctx's end. One that a user gave with context.WithCancelCause matches the error
// of ctx too, so that errors.Is(err, context.Canceled) holds for callers that do not know of it.
// The caller's own causes stay as they are.
func Of(ctx context.Context, own ...error) error {
	why := context.Cause(ctx)
	if why == nil || slices.Contains(own, why) || errors.Is(why, ctx.Err()) {
		return why
	}
	return fmt.Errorf("%w: %w", ctx.Err(), why)
}
