package cloud

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/leaktest"
	"github.com/shardfeed/shardfeed/shard"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// sign returns the header of a signed request.
func sign(t *testing.T, ctx context.Context, tokens *Tokens) (string, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://host/", nil)
	if err != nil {
		t.Fatal(err)
	}
	err = tokens.Sign(r)
	return r.Header.Get("Authorization"), err
}

// Many requests at once fetch one token.
func TestTokensOnce(t *testing.T) {
	var fetches atomic.Int64
	tokens := NewTokens(func(context.Context) (Token, error) {
		time.Sleep(10 * time.Millisecond)
		return Token{Value: fmt.Sprint(fetches.Add(1)), Expires: time.Now().Add(time.Hour)}, nil
	})
	var wait sync.WaitGroup
	for range 20 {
		wait.Go(func() {
			if head, err := sign(t, t.Context(), tokens); err != nil || head != "Bearer 1" {
				t.Errorf("%q, %v", head, err)
			}
		})
	}
	wait.Wait()
}

// A token that still lasts is used while there is no other; after that the failure passes, as there
// were tokens.
func TestTokensFail(t *testing.T) {
	life, gone := time.Minute, errors.New("gone")
	var failing error
	tokens := NewTokens(func(context.Context) (Token, error) { return Token{Value: "x", Expires: time.Now().Add(life)}, failing })
	if _, err := sign(t, t.Context(), tokens); err != nil {
		t.Fatal(err)
	}
	failing = gone
	if head, err := sign(t, t.Context(), tokens); err != nil || head != "Bearer x" {
		t.Errorf("%q, %v", head, err)
	}
	tokens.last.Expires = time.Now()
	if _, err := sign(t, t.Context(), tokens); !errors.Is(err, gone) || !errors.Is(err, shard.ErrTransient) {
		t.Errorf("error %v", err)
	}
	first := NewTokens(func(context.Context) (Token, error) { return Token{}, gone })
	if _, err := sign(t, t.Context(), first); !errors.Is(err, gone) || errors.Is(err, shard.ErrTransient) {
		t.Errorf("error %v of the first token", err)
	}
}

// Who waits for a token may leave.
func TestTokensLeave(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	tokens := NewTokens(func(ctx context.Context) (Token, error) {
		cancel()
		<-ctx.Done()
		return Token{}, ctx.Err()
	})
	if _, err := sign(t, ctx, tokens); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
