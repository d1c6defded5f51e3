package delta

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/shardfeed/shardfeed/shard"
)

const (
	pieceBytes = 4 << 20  // read at once
	maxLine    = 64 << 20 // longest action
)

// readLines calls each with the lines of a file. It ends without an error when each returns
// errDone.
func readLines(ctx context.Context, store shard.Store, s shard.Shard, each func(line []byte) error) (err error) {
	object, err := store.Open(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, object.Close()) }()
	var buffer []byte
	for off := int64(0); off < s.Size; {
		kept := len(buffer)
		n := min(pieceBytes, s.Size-off)
		buffer = append(buffer, make([]byte, n)...)
		if err := object.ReadAt(ctx, buffer[kept:], off); err != nil {
			return err
		}
		off += n
		if buffer, err = cutLines(buffer, off == s.Size, each); errors.Is(err, errDone) {
			return nil
		}
		if err == nil && len(buffer) > maxLine {
			err = fmt.Errorf("%w: an action takes more than %d bytes", shard.ErrCorrupt, maxLine)
		}
		if err != nil {
			return &shard.Error{Op: "table", URI: s.URI, Err: err}
		}
	}
	return nil
}

var errDone = errors.New("done")

// cutLines calls each with whole lines, and returns what follows them.
func cutLines(b []byte, last bool, each func(line []byte) error) ([]byte, error) {
	rest := b
	for {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 && !last {
			return append(b[:0], rest...), nil
		}
		line := rest
		if i >= 0 {
			line = rest[:i]
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			if err := each(line); err != nil {
				return nil, err
			}
		}
		if i < 0 {
			return nil, nil
		}
		rest = rest[i+1:]
	}
}

// parseAction reads one action.
func parseAction(line []byte) (a action, err error) {
	if err := json.Unmarshal(line, &a); err != nil {
		return a, fmt.Errorf("%w: an action is not of the known form: %w", shard.ErrCorrupt, err)
	}
	switch {
	case a.Add != nil && a.Add.Path == "", a.Remove != nil && a.Remove.Path == "", a.Sidecar != nil && a.Sidecar.Path == "":
		err = fmt.Errorf("%w: an action has no path", shard.ErrCorrupt)
	case a.Add != nil && a.Add.Size < 0, a.Sidecar != nil && a.Sidecar.Size < 0:
		err = fmt.Errorf("%w: an action has a negative size", shard.ErrCorrupt)
	}
	return a, err
}
