package engine

import (
	"context"
	"fmt"
	"net"

	"github.com/shardfeed/shardfeed/internal/engine/wire"
	"github.com/shardfeed/shardfeed/internal/loads"
)

// A Follower reads the loads of a rank from the engine that listens at a path. Like a check it is
// not a client. One goroutine uses it.
type Follower struct {
	conn   net.Conn
	frames wire.Reader
	ask    []byte
}

// Follow starts to record the loads of a rank of a data set object, until Close.
func Follow(ctx context.Context, path string, of loads.Rank) (*Follower, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, unreachable(path, err))
	}
	f := &Follower{conn: conn, frames: wire.NewReader(conn)}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	_, err = greet(conn, &f.frames)
	if err == nil {
		f.ask, err = wire.AppendMessage(nil, wire.FrameTrace, wire.Trace{Dataset: of.Dataset, Rank: of.Rank})
	}
	if err == nil {
		_, err = f.Next()
	}
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("%s: %w", path, unanswered(ctx, err))
	}
	return f, nil
}

// Next returns the loads since the last call.
func (f *Follower) Next() (wire.Events, error) {
	var e wire.Events
	if _, err := f.conn.Write(f.ask); err != nil {
		return e, err
	}
	err := answerOf(&f.frames, wire.FrameEvents, &e)
	return e, err
}

// Close ends the recording.
func (f *Follower) Close() { _ = f.conn.Close() }
