package krb

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jcmturner/gokrb5/v8/client"

	"github.com/shardfeed/shardfeed/internal/cause"
	"github.com/shardfeed/shardfeed/shard"
)

const (
	loginTime = 30 * time.Second // for a KDC to answer; gokrb5 allows 10 s for each KDC of the realm
	lookEvery = time.Second      // between two looks at the file
)

// A Source is a client that stays logged in. It is safe for concurrent use.
type Source struct {
	options Options
	logins  sync.WaitGroup // logins under way

	mu         sync.Mutex
	closed     bool
	current    *login
	generation uint64    // of current
	looked     time.Time // at the file, last
	attempt    *attempt  // the login under way, or nil
	retired    []*client.Client
}

// An attempt is a login under way, that all callers wait for.
type attempt struct {
	done chan struct{}
	err  error // valid after done
}

// New returns a source. It reads no file before the first Client. Env is os.Getenv or a
// replacement.
func New(o Options, env func(string) string) (*Source, error) {
	o, err := o.resolve(env)
	if err != nil {
		return nil, err
	}
	return &Source{options: o}, nil
}

var errClosed = errors.New("the source of Kerberos credentials is closed")

// Client returns a client that is logged in, and its generation. It waits for a login at most until
// ctx is done or half a minute has passed. The client is shared: users never call its Destroy.
func (s *Source) Client(ctx context.Context) (*client.Client, uint64, error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, 0, &Error{Err: errClosed}
	}
	if l := s.fresh(); l != nil {
		defer s.mu.Unlock()
		return l.client, s.generation, nil
	}
	a := s.attempt
	if a == nil {
		a = &attempt{done: make(chan struct{})}
		s.attempt = a
		s.logins.Go(func() { s.login(a) })
	}
	s.mu.Unlock()
	return s.await(ctx, a)
}

// fresh returns the login when it can be used as it is. The caller holds the lock.
func (s *Source) fresh() *login {
	l := s.current
	if l == nil {
		return nil
	}
	now := time.Now()
	if now.Sub(s.looked) < lookEvery && l.valid(now) {
		return l
	}
	s.looked = now
	at := stampOf(l.path)
	if l.valid(now) && (at == l.stamp || at == stamp{}) { // a file that is away for a moment is being replaced
		return l
	}
	return nil
}

// valid reports whether the ticket can be used. A keytab's client renews its own.
func (l *login) valid(now time.Time) bool {
	return l.until.IsZero() || now.Before(l.until) || l.client.AffirmLogin() == nil
}

// login makes a new client. Where that fails and the old one's ticket is valid, that stays.
func (s *Source) login(a *attempt) {
	l, err := s.options.start()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attempt = nil
	s.looked = time.Now()
	switch {
	case err != nil && s.current != nil && s.current.valid(s.looked):
	case err != nil:
		a.err = err
	default:
		if s.current != nil {
			s.retired = append(s.retired, s.current.client)
		}
		s.current = l
		s.generation++
	}
	close(a.done)
}

func (s *Source) await(ctx context.Context, a *attempt) (*client.Client, uint64, error) {
	select {
	case <-ctx.Done():
		return nil, 0, cause.Of(ctx)
	case <-time.After(loginTime):
		return nil, 0, &Error{Err: fmt.Errorf("%w: no KDC answered within %v", shard.ErrTransient, loginTime), Hint: "can this machine reach the KDCs that krb5.conf names?"}
	case <-a.done:
	}
	if a.err != nil {
		return nil, 0, a.err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.current == nil {
		return nil, 0, &Error{Err: errClosed}
	}
	return s.current.client, s.generation, nil
}

// Describe names the owner and the place of the credentials, without secrets.
func (s *Source) Describe() string {
	s.mu.Lock()
	l := s.current
	s.mu.Unlock()
	who := s.options.Principal
	path := s.options.CCache
	if l != nil {
		who, path = l.principal, l.path
	}
	what := "ticket cache " + path
	switch {
	case s.options.Keytab != "":
		what = "keytab " + s.options.Keytab
	case path == "":
		what = "the user's ticket cache"
	}
	if who == "" {
		return what
	}
	return what + " of " + who
}

// Close ends all clients that the source made, and waits for a login that is under way.
func (s *Source) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.logins.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != nil {
		s.retired = append(s.retired, s.current.client)
	}
	for _, c := range s.retired {
		c.Destroy()
	}
	s.current, s.retired = nil, nil
}
