package webhdfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/shardfeed/shardfeed/internal/cause"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/driver"
	"github.com/shardfeed/shardfeed/shard/driver/connect"
)

const (
	maxAnswer = 1 << 30 // bytes of a list; a page of LISTSTATUS_BATCH has about 300 KiB
	maxError  = 64 << 10
	maxHops   = 5 // redirects of one request
)

type query struct {
	op   string
	path string // cleaned
	args url.Values
}

// url is the address of a query at a server, without who asks.
func (b *base) locate(q query) *url.URL {
	u := *b.url
	u.Path += apiRoot + q.path
	u.RawPath = escape(b.url.Path + apiRoot + q.path)
	return &u
}

// send makes one request to a server and shows credentials when it asks for them. The answer is
// 200, 206 or a redirect, or an error.
func (s *Store) send(ctx context.Context, b *base, q query) (*http.Response, error) {
	args := url.Values{"op": {q.op}}
	for name, values := range q.args {
		args[name] = values
	}
	if err := s.identify(ctx, b, args); err != nil {
		return nil, err
	}
	u := b.locate(q)
	u.RawQuery = args.Encode()
	return s.show(ctx, b, u)
}

// show makes a request of a server that may see credentials.
func (s *Store) show(ctx context.Context, b *base, u *url.URL) (*http.Response, error) {
	r := newRequest(ctx, u)
	shown := b.auth.header(r, s.options)
	answer, err := s.roundTrip(r)
	if err == nil && negotiates(answer) && u.Query().Get("delegation") == "" {
		connect.Drain(answer)
		answer, err = s.prove(ctx, b, u, shown)
	}
	if err != nil {
		return nil, err
	}
	b.auth.keep(answer)
	return checked(ctx, u.Host, answer)
}

// roundTrip sends a request and waits for the head of its answer.
func (s *Store) roundTrip(r *http.Request) (*http.Response, error) {
	transport, err := s.transport()
	if err != nil {
		return nil, err
	}
	answer, err := transport.RoundTrip(r)
	if err != nil {
		return nil, connect.Lost(r.Context(), r.URL.Host, err)
	}
	return answer, nil
}

// prove makes a request with a Kerberos ticket, or with the cookie that another got meanwhile.
func (s *Store) prove(ctx context.Context, b *base, u *url.URL, shown int64) (*http.Response, error) {
	if b.auth.turn.Acquire(ctx, 1) != nil {
		return nil, cause.Of(ctx)
	}
	defer b.auth.turn.Release(1)
	if b.auth.shown.Load() != shown {
		r := newRequest(ctx, u)
		b.auth.header(r, s.options)
		answer, err := s.roundTrip(r)
		if err != nil || !negotiates(answer) {
			return answer, err
		}
		connect.Drain(answer)
	}
	b.auth.drop()
	header, err := s.ticket(ctx, b.url.Hostname())
	if err != nil {
		return nil, err
	}
	r := newRequest(ctx, u)
	r.Header.Set("Authorization", header)
	answer, err := s.roundTrip(r)
	if err != nil {
		return nil, err
	}
	b.auth.keep(answer)
	if answer.StatusCode != http.StatusUnauthorized {
		b.auth.shown.Add(1)
	}
	return answer, nil
}

// follow goes where a redirect leads. Credentials are shown again only to the server that redirects
// to itself, as gateways do.
func (s *Store) follow(ctx context.Context, b *base, answer *http.Response) (*http.Response, string, error) {
	node := ""
	for range maxHops {
		if answer.StatusCode < 300 {
			return answer, node, nil
		}
		to, err := answer.Location()
		connect.Drain(answer)
		if err != nil || to.Host == "" || to.Scheme != "http" && to.Scheme != "https" {
			return nil, node, fmt.Errorf("%w: %s redirects to no address", errForeign, answer.Request.URL.Host)
		}
		if answer.Request.URL.Scheme == "https" && to.Scheme == "http" {
			return nil, node, fmt.Errorf("%w: %s redirects from https to http, where others could read the token", shard.ErrDenied, b.url.Host)
		}
		if to.Host == b.url.Host && to.Scheme == b.url.Scheme {
			answer, err = s.show(ctx, b, to)
		} else {
			node = to.Host
			answer, err = s.datanode(ctx, to)
		}
		if err != nil {
			return nil, node, err
		}
	}
	connect.Drain(answer)
	return nil, node, fmt.Errorf("%w: %s: over %d redirects", errForeign, b.url.Host, maxHops)
}

// datanode makes a request of a server that shall see no credentials but what the redirect holds.
func (s *Store) datanode(ctx context.Context, u *url.URL) (*http.Response, error) {
	if s.options.DatanodeHost != nil {
		to := *u
		to.Host = s.options.DatanodeHost(u.Host)
		u = &to
	}
	answer, err := s.roundTrip(newRequest(ctx, u))
	if err != nil {
		return nil, err
	}
	return checked(ctx, u.Host, answer)
}

func newRequest(ctx context.Context, u *url.URL) *http.Request {
	r := &http.Request{
		Method: http.MethodGet, URL: u, Host: u.Host, Header: make(http.Header), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	r.Header.Set("User-Agent", "shardfeed")
	r.Header.Set("X-XSRF-HEADER", "\"\"") // servers with a CSRF filter want to see it
	return r.WithContext(ctx)
}

// checked returns an answer that is a success or a redirect, else its error.
func checked(ctx context.Context, host string, answer *http.Response) (*http.Response, error) {
	switch answer.StatusCode {
	case http.StatusOK, http.StatusPartialContent, http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return answer, nil
	}
	defer connect.Drain(answer)
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxError))
	if err != nil && ctx.Err() != nil {
		return nil, connect.Lost(ctx, host, err)
	}
	return nil, parseRemote(host, answer.StatusCode, body)
}

// ask makes a query whose answer is a document, with any server of the cluster, and returns what
// parse makes of it. An answer that parse refuses is asked for again.
func ask[T any](ctx context.Context, c *cluster, q query, parse func(body []byte) (T, error)) (found T, err error) {
	if err := c.window.Acquire(ctx); err != nil {
		return found, err
	}
	defer c.window.Release()
	err = c.try(ctx, func(ctx context.Context, b *base) error {
		body, err := c.store.document(ctx, b, q)
		if err != nil {
			return err
		}
		found, err = parse(body)
		return err
	})
	return found, err
}

func (s *Store) document(ctx context.Context, b *base, q query) (body []byte, err error) {
	kind := driver.LookRequest
	if strings.HasPrefix(q.op, "LIST") {
		kind = driver.ListRequest
	}
	ctx, w := driver.NewWatch(ctx)
	defer w.End(nil)
	measured := b.meter.Start(ctx, kind)
	defer func() { measured.End(err) }()
	w.Begin(s.options.ReadTimeout)
	answer, err := s.send(ctx, b, q)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode >= 300 {
		if answer, _, err = s.follow(ctx, b, answer); err != nil {
			return nil, err
		}
	}
	defer answer.Body.Close()
	body, err = io.ReadAll(io.LimitReader(w.Reader(answer.Body), maxAnswer+1))
	switch {
	case err != nil:
		return nil, connect.Lost(ctx, b.url.Host, err)
	case len(body) > maxAnswer:
		return nil, errors.New("the server's answer is too long")
	}
	return body, nil
}
