package wire

import (
	"errors"
	"fmt"
)

// What can be wrong with a stream, for errors.Is. Each comes inside an Error.
var (
	ErrChecksum = errors.New("checksum mismatch")
	ErrProtocol = errors.New("unexpected data in the packet stream")
	ErrShort    = errors.New("the replica ends before the asked range does")
	ErrNull     = errors.New("the datanode sends no checksums, so the data cannot be verified")
	ErrOpaque   = errors.New("the data transfer is encrypted, so it cannot be verified")
	ErrRefused  = errors.New("the datanode refused")
	ErrNoReader = errors.New("no reader is in use")
)

// An Error names the datanode that failed, and the place.
type Error struct {
	Datanode string // host:port
	Block    uint64 // id; 0 before the block was asked for
	Offset   int64  // within the block, where the verified bytes end
	Err      error
}

func (e *Error) Error() string {
	if e.Block == 0 {
		return fmt.Sprintf("datanode %s: %v", e.Datanode, e.Err)
	}
	return fmt.Sprintf("datanode %s: block %d at byte %d: %v", e.Datanode, e.Block, e.Offset, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }
