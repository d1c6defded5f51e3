package web

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/driver/connect"
)

// A statusError is an answer that reports a failure.
type statusError struct {
	status     int
	host       string
	redirected bool          // the URL is not the one of the address
	directory  bool          // it was redirected to a URL that ends in a slash
	after      time.Duration // that the server asks to wait
	limit      string        // the rate limit that it names, for messages
	total      int64         // size of the file, of an answer to a range that is not within it; else -1
	head       http.Header
	code, text string // of the server itself, or ""
}

func newStatusError(answer *http.Response) *statusError {
	head := answer.Header
	e := &statusError{
		status: answer.StatusCode, host: answer.Request.URL.Host, after: retryAfter(head), total: -1, head: head,
	}
	e.code, e.text = reason(answer)
	if left, _, ok := rateLimit(head); ok {
		e.limit = fmt.Sprintf(" (%d requests are left)", left)
	}
	if size, ok := strings.CutPrefix(answer.Header.Get("Content-Range"), "bytes */"); ok {
		if n, err := strconv.ParseInt(size, 10, 64); err == nil {
			e.total = n
		}
	}
	return e
}

func (e *statusError) Error() string {
	text := fmt.Sprintf("%s: %d %s", e.host, e.status, http.StatusText(e.status))
	for _, more := range []string{e.code, e.text} {
		if more != "" {
			text += ": " + more
		}
	}
	return text
}

// CodeOf returns the server's own code of a failure, or "".
func CodeOf(err error) string {
	if e, ok := errors.AsType[*statusError](err); ok {
		return e.code
	}
	return ""
}

// expired reports whether a redirect led to a URL that has expired, or that is for another range.
// The first server makes another.
func (e *statusError) expired() bool {
	return e.redirected && !e.directory && (e.status == http.StatusForbidden || e.status == http.StatusUnauthorized || e.status == http.StatusRequestedRangeNotSatisfiable)
}

// Unwrap returns the kind of failure.
func (e *statusError) Unwrap() error {
	if e.expired() {
		return shard.ErrTransient
	}
	switch e.status {
	case http.StatusNotFound, http.StatusGone:
		return shard.ErrNotExist
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:
		return shard.ErrDenied
	case http.StatusPreconditionFailed, http.StatusRequestedRangeNotSatisfiable:
		return shard.ErrChanged
	case http.StatusTooManyRequests, http.StatusRequestTimeout, http.StatusTooEarly:
		return shard.ErrTransient
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return nil
	}
	if e.status >= 500 {
		return shard.ErrTransient
	}
	return nil
}

func (e *statusError) throttles() bool {
	return e.status == http.StatusTooManyRequests || e.status == http.StatusServiceUnavailable
}

// retryAfter returns how long a server asks to wait, in seconds or until a date.
func retryAfter(head http.Header) time.Duration {
	text := head.Get("Retry-After")
	if n, err := strconv.Atoi(text); err == nil && n >= 0 && n <= 3600 {
		return time.Duration(n) * time.Second
	}
	if t, err := http.ParseTime(text); err == nil {
		return max(time.Until(t), 0)
	}
	if left, reset, ok := rateLimit(head); ok && left == 0 {
		return reset
	}
	return 0
}

// rateLimit returns what is left of a rate limit, and the time until it starts again, by the header
// RateLimit (draft-ietf-httpapi-ratelimit-headers): "resolvers";r=0;t=55.
func rateLimit(head http.Header) (left int, reset time.Duration, ok bool) {
	found := limited.FindStringSubmatch(head.Get("RateLimit"))
	if found == nil {
		return 0, 0, false
	}
	left, _ = strconv.Atoi(found[1])
	seconds, _ := strconv.Atoi(found[2])
	return left, time.Duration(seconds) * time.Second, true
}

var limited = regexp.MustCompile(`;\s*r=(\d{1,9})\s*;\s*t=(\d{1,6})`)

func wrap(op, uri string, err error) error {
	if e := (*shard.Error)(nil); errors.As(err, &e) { // of driver.Walk, which knows the path
		if e.Hint == "" {
			e.Hint = hint(err)
		}
		return err
	}
	return &shard.Error{Op: op, URI: uri, Err: err, Hint: hint(err)}
}

func hint(err error) string {
	refused, answered := errors.AsType[*statusError](err)
	switch {
	case errors.Is(err, ErrUnlisted):
		return "name the files, by braces as in https://host/part-{000..099}.parquet or in a list file as @files.txt"
	case errors.Is(err, errNoRanges):
		return "serve the files by nginx, Caddy, Apache or a bucket; python -m http.server sends only whole files"
	case errors.Is(err, errForeign):
		return "a proxy, a login page or another service may answer in its place: see the address and https_proxy"
	case answered && refused.status == http.StatusUnauthorized:
		return "the storage option " + headerOption + "Authorization is sent with each request, as in \"Bearer TOKEN\""
	case answered && refused.status == http.StatusForbidden:
		return "a signed URL may have expired; the storage option " + headerOption + "Authorization is sent with each request"
	case connect.IsUnreachable(err):
		return "see whether the server, or the proxy, can be reached from here; shardfeed doctor tries it"
	}
	return ""
}
