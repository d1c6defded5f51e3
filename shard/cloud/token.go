package cloud

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/shardfeed/shardfeed/internal/cause"
	"github.com/shardfeed/shardfeed/shard"
)

// A Token shows who asks, until it expires.
type Token struct {
	Value   string
	Expires time.Time // zero: never
}

// A Fetch gets a token. Its errors wrap the kinds of package shard.
type Fetch func(context.Context) (Token, error)

// Fixed returns a token that never expires.
func Fixed(value string) Fetch {
	return func(context.Context) (Token, error) { return Token{Value: value}, nil }
}

// A Signer adds the proof of who asks to a request.
type Signer interface{ Sign(r *http.Request) error }

// Unsigned adds nothing: requests are anonymous.
type Unsigned struct{}

// Sign adds nothing.
func (Unsigned) Sign(*http.Request) error { return nil }

// Times of tokens.
const (
	renewBefore = 3 * time.Minute // a new one is fetched so long before the old one expires
	fetchTime   = 30 * time.Second
)

// Tokens sign requests with a token that is fetched again before it expires. Its methods are safe
// for concurrent use: one request fetches for all.
type Tokens struct {
	fetch    Fetch
	put      func(r *http.Request, token string) error
	fetching *semaphore.Weighted

	mu   sync.Mutex
	last Token // or zero
}

// NewTokens returns the tokens of fetch, as bearers.
func NewTokens(fetch Fetch) *Tokens {
	return NewTokensIn(fetch, func(r *http.Request, token string) error {
		r.Header.Set("Authorization", "Bearer "+token)
		return nil
	})
}

// NewTokensIn returns the tokens of fetch, which put adds to requests.
func NewTokensIn(fetch Fetch, put func(r *http.Request, token string) error) *Tokens {
	return &Tokens{fetch: fetch, put: put, fetching: semaphore.NewWeighted(1)}
}

// Sign adds the token to a request.
func (t *Tokens) Sign(r *http.Request) error {
	token, err := t.get(r.Context())
	if err != nil {
		return err
	}
	return t.put(r, token.Value)
}

func (t *Tokens) get(ctx context.Context) (Token, error) {
	if now := t.current(); now.lasts(renewBefore) {
		return now, nil
	}
	if t.fetching.Acquire(ctx, 1) != nil {
		return Token{}, cause.Of(ctx)
	}
	defer t.fetching.Release(1)
	now := t.current()
	if now.lasts(renewBefore) {
		return now, nil
	}
	limited, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	got, err := t.fetch(limited)
	switch {
	case err == nil:
		t.mu.Lock()
		t.last = got
		t.mu.Unlock()
		return got, nil
	case ctx.Err() != nil:
		return Token{}, cause.Of(ctx)
	case now.lasts(0):
		return now, nil
	case now.Value != "" || limited.Err() != nil: // there were tokens, or a server is slow
		return Token{}, fmt.Errorf("%w: %w", shard.ErrTransient, err)
	}
	return Token{}, err
}

func (t *Tokens) current() Token {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last
}

// lasts reports whether there is a token that does not expire within d.
func (t Token) lasts(d time.Duration) bool {
	return t.Value != "" && (t.Expires.IsZero() || time.Until(t.Expires) > d)
}

// ErrNoCredentials is the error of a fetch that found no credentials.
var ErrNoCredentials = errors.New("no credentials were found")
