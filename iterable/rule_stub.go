package iterable

import (
	"context"
	"errors"
	"io"
)

// Select writes a rows file.
func (d *Dataset) Select(context.Context, io.Writer) (int64, error) {
	return 0, errors.New("select does not work yet")
}
