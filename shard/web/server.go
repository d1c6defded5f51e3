package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/driver"
	"github.com/shardfeed/shardfeed/shard/driver/connect"
)

// A server is the one of an origin, whichever others it redirects to.
type server struct {
	store  *Store
	origin string
	window *driver.Window
	meter  *driver.Meter
	met    atomic.Bool // it has answered
	noted  atomic.Bool // a pause that it asks for
}

// leastRequests may be in flight to any server.
const leastRequests = 2

func newServer(s *Store, origin string) *server {
	w := &server{store: s, origin: origin, window: driver.NewWindow(leastRequests, s.options.FirstRequests, s.options.MaxRequests), meter: s.meters.Of(origin)}
	w.meter.Follow(w.window)
	return w
}

// Look describes the file at a URL by a request for its first byte, and returns the headers of the
// answer.
func (s *Store) Look(ctx context.Context, location string) (driver.Entry, http.Header, error) {
	a, to, err := s.at(location)
	if err != nil {
		return driver.Entry{}, nil, err
	}
	return to.look(ctx, a, a.path)
}

func (s *server) look(ctx context.Context, a address, path string) (e driver.Entry, head http.Header, err error) {
	err = s.try(ctx, func() (err error) {
		e, head, err = s.lookOnce(ctx, a, path)
		return err
	})
	return e, head, err
}

func (s *server) lookOnce(ctx context.Context, a address, path string) (e driver.Entry, head http.Header, err error) {
	if err := s.window.Acquire(ctx); err != nil {
		return e, nil, err
	}
	defer s.window.Release()
	ctx, w := driver.NewWatch(ctx)
	defer w.End(nil)
	measured := s.meter.Start(ctx, driver.LookRequest)
	defer func() { measured.End(err) }()
	w.Begin(s.store.options.ReadTimeout)
	u, err := a.locate(path)
	if err != nil {
		return e, nil, err
	}
	answer, err := s.send(ctx, u, s.ranged(shard.Span{N: 1}, ""))
	if empty, ok := errors.AsType[*statusError](err); ok && empty.status == http.StatusRequestedRangeNotSatisfiable && empty.total <= 0 {
		return driver.Entry{Name: path, Version: s.store.options.Protocol.Version(empty.head)}, empty.head, nil // a file of no bytes has no first one
	}
	if refused, ok := errors.AsType[*statusError](err); ok && refused.directory { // which may not be listed
		return driver.Entry{Kind: driver.KindDir}, refused.head, nil
	}
	if err != nil {
		return e, nil, err
	}
	defer connect.Drain(answer)
	if isDirectory(answer.Request.URL.Path) {
		return driver.Entry{Kind: driver.KindDir}, answer.Header, nil
	}
	size, err := sizeOf(answer)
	if err != nil {
		return e, nil, err
	}
	s.window.Done()
	return driver.Entry{Name: path, Size: size, Version: s.store.options.Protocol.Version(answer.Header)}, answer.Header, nil
}

// sizeOf returns the size of the file whose first bytes an answer has.
func sizeOf(answer *http.Response) (int64, error) {
	if answer.StatusCode == http.StatusOK {
		if answer.ContentLength == 0 {
			return 0, nil
		}
		return 0, errNoRanges
	}
	text := answer.Header.Get("Content-Range")
	if strings.HasSuffix(text, "/0") { // some servers send the first byte of an empty file
		return 0, nil
	}
	_, _, total, err := parseContentRange(text)
	return total, err
}

// parseContentRange reads "bytes 0-9/100". The second result is the byte after the last.
func parseContentRange(text string) (off, end, total int64, err error) {
	span, size, found := strings.Cut(strings.TrimPrefix(text, "bytes "), "/")
	first, last, ranged := strings.Cut(span, "-")
	off, err1 := strconv.ParseInt(first, 10, 64)
	end, err2 := strconv.ParseInt(last, 10, 64)
	if size == "*" {
		return 0, 0, 0, fmt.Errorf("%w: it does not say the file's size: Content-Range %.100q", errNoRanges, text)
	}
	total, err3 := strconv.ParseInt(size, 10, 64)
	if !found || !ranged || errors.Join(err1, err2, err3) != nil || off < 0 || end < off || end >= total {
		return 0, 0, 0, fmt.Errorf("%w: Content-Range %.100q", errForeign, text)
	}
	return off, end + 1, total, nil
}

// maxDocument bounds an answer that is read whole.
const maxDocument = 64 << 20

// Document returns what a server answers to a URL, and the headers of the answer. It is for
// interfaces of servers, such as one that lists files.
func (s *Store) Document(ctx context.Context, location string) (body []byte, head http.Header, err error) {
	a, to, err := s.at(location)
	if err != nil {
		return nil, nil, err
	}
	u, err := a.locate(a.path)
	if err != nil {
		return nil, nil, err
	}
	err = to.try(ctx, func() (err error) {
		body, head, err = to.document(ctx, u)
		return err
	})
	return body, head, err
}

func (s *server) document(ctx context.Context, u *url.URL) (body []byte, head http.Header, err error) {
	if err := s.window.Acquire(ctx); err != nil {
		return nil, nil, err
	}
	defer s.window.Release()
	ctx, w := driver.NewWatch(ctx)
	defer w.End(nil)
	measured := s.meter.Start(ctx, driver.ListRequest)
	defer func() { measured.End(err) }()
	w.Begin(s.store.options.ReadTimeout)
	answer, err := s.send(ctx, u, nil)
	if err != nil {
		return nil, nil, err
	}
	defer answer.Body.Close()
	body, err = io.ReadAll(io.LimitReader(w.Reader(answer.Body), maxDocument+1))
	switch {
	case err != nil:
		return nil, nil, connect.Lost(ctx, u.Host, err)
	case len(body) > maxDocument:
		return nil, nil, fmt.Errorf("%w: it has over %d bytes", errForeign, maxDocument)
	}
	s.window.Done()
	return body, answer.Header, nil
}
