package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/driver/connect"
)

const maxHops = 5 // redirects of one request

// send makes a request with the headers of its own that add sets, and follows redirects. The answer
// has status 200 or 206 and no encoding, or there is an error.
func (s *server) send(ctx context.Context, u *url.URL, add func(http.Header)) (*http.Response, error) {
	transport, err := s.store.transport()
	if err != nil {
		return nil, err
	}
	for hops := range maxHops + 1 {
		r, err := s.request(ctx, u, add)
		if err != nil {
			return nil, err
		}
		answer, err := transport.RoundTrip(r)
		if err != nil {
			return nil, connect.Lost(ctx, u.Host, err)
		}
		if hops == 0 {
			s.limit(answer.Header)
		}
		switch answer.StatusCode {
		case http.StatusOK, http.StatusPartialContent:
			if err := plain(answer); err != nil {
				_ = answer.Body.Close()
				return nil, err
			}
			return answer, nil
		case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
			to, err := answer.Location()
			connect.Drain(answer)
			switch {
			case err != nil || to.Host == "" || to.Scheme != "http" && to.Scheme != "https":
				return nil, fmt.Errorf("%w: %s redirects to no address", errForeign, u.Host)
			case u.Scheme == "https" && to.Scheme == "http":
				return nil, fmt.Errorf("%w: %s redirects from https to http", shard.ErrDenied, u.Host)
			}
			u = to
		default:
			defer connect.Drain(answer)
			e := newStatusError(answer)
			e.redirected = hops > 0
			e.directory = e.redirected && isDirectory(u.Path)
			return nil, e
		}
	}
	return nil, fmt.Errorf("%w: %s: over %d redirects", errForeign, u.Host, maxHops)
}

// request makes a request. Only the server of the address gets headers of options and a signature.
func (s *server) request(ctx context.Context, u *url.URL, add func(http.Header)) (*http.Request, error) {
	r := &http.Request{Method: http.MethodGet, URL: u, Host: u.Host, Header: make(http.Header), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	own := strings.EqualFold(u.Scheme+"://"+u.Host, s.origin)
	if own {
		for name, values := range s.store.options.Headers {
			r.Header[name] = values
		}
	}
	r.Header.Set("User-Agent", "shardfeed")
	r.Header.Set("Accept-Encoding", "identity")
	if add != nil {
		add(r.Header)
	}
	r = r.WithContext(ctx)
	if !own {
		return r, nil
	}
	return r, s.store.options.Protocol.Sign(r)
}

// ranged asks for bytes of a file at a version, "" for any.
func (s *server) ranged(span shard.Span, version string) func(http.Header) {
	return func(head http.Header) {
		head.Set("Range", fmt.Sprintf("bytes=%d-%d", span.Off, span.End()-1))
		s.store.options.Protocol.Demand(head, version)
	}
}

// plain refuses an answer whose bytes are not the file's.
func plain(answer *http.Response) error {
	if encoding := answer.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return fmt.Errorf("%w: it has Content-Encoding %s", errForeign, encoding)
	}
	return nil
}

// errForeign is an answer that is not a file's: of a proxy, a login page or a broken network.
var errForeign = errors.New("the answer is not a file's")

// errNoRanges is a server that sends only whole files.
var errNoRanges = fmt.Errorf("%w: the server does not serve ranges of files", shard.ErrBadURI)
