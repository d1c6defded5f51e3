//go:build !linux && !darwin

package local

import (
	"errors"

	"github.com/shardfeed/shardfeed/shard"
)

// mapRange cannot lend bytes here: files are read.
func (l *lease) mapRange(int64) error { return errors.ErrUnsupported }

// Release does nothing.
func (l *lease) Release() {}

// Forget does nothing.
func (l *lease) Forget(shard.Span) {}
