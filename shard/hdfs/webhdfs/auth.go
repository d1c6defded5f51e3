package webhdfs

import (
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/spnego"
	"golang.org/x/sync/semaphore"

	"github.com/shardfeed/shardfeed/internal/cause"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/hdfs/krb"
)

// auth is the credentials shown to a server, and the cookies it gave for them.
type auth struct {
	turn    *semaphore.Weighted // held while a ticket is shown, so that many requests show one
	shown   atomic.Int64        // tickets that the server took
	mu      sync.Mutex
	cookies map[string]*http.Cookie // by name; each replaces a ticket that was shown once
}

// token is the delegation token for a server, or "". Those in a file are kept by nameservice, by
// host or by the host's address.
func (s *Store) token(ctx context.Context, b *base) (string, error) {
	if s.options.Delegation != "" || s.options.TokenFile == "" {
		return s.options.Delegation, nil
	}
	tokens, err := s.tokens()
	if err != nil {
		return "", err
	}
	host := b.url.Hostname()
	if token := tokens.forServer([]string{host}, b.url.Port(), s.serviceOf(b)); token != "" {
		return token, nil
	}
	addresses, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil {
		return "", nil // the request itself will report a wrong name
	}
	return tokens.forServer(addresses, b.url.Port(), ""), nil
}

// identify adds the user to a query: a token, or a plain name without Kerberos.
func (s *Store) identify(ctx context.Context, b *base, query url.Values) error {
	token, err := s.token(ctx, b)
	if err != nil {
		return err
	}
	source, err := s.kerberos()
	switch {
	case err != nil:
		return err
	case token != "":
		query.Set("delegation", token)
	case source == nil && s.options.User != "" && s.options.Password == "":
		query.Set("user.name", s.options.User)
	}
	return nil
}

func (a *auth) header(r *http.Request, o Options) (shown int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.cookies {
		r.AddCookie(&http.Cookie{Name: c.Name, Value: c.Value, Quoted: c.Quoted})
	}
	if o.Password != "" {
		r.SetBasicAuth(o.User, o.Password)
	}
	return a.shown.Load()
}

func (a *auth) keep(answer *http.Response) {
	cookies := answer.Cookies()
	if len(cookies) == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.cookies == nil {
		a.cookies = make(map[string]*http.Cookie)
	}
	for _, c := range cookies {
		if c.Value == "" || c.MaxAge < 0 {
			delete(a.cookies, c.Name)
		} else {
			a.cookies[c.Name] = c
		}
	}
}

func (a *auth) drop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.cookies = nil
}

func negotiates(answer *http.Response) bool {
	if answer.StatusCode != http.StatusUnauthorized {
		return false
	}
	for _, challenge := range answer.Header.Values("WWW-Authenticate") {
		if scheme, _, _ := strings.Cut(challenge, " "); strings.EqualFold(scheme, "Negotiate") {
			return true
		}
	}
	return false
}

// ticket is the Authorization header that shows a Kerberos ticket to a server.
func (s *Store) ticket(ctx context.Context, host string) (string, error) {
	source, err := s.kerberos()
	if err != nil {
		return "", err
	}
	if source == nil {
		return "", &hinted{
			error: fmt.Errorf("%w: %s requires Kerberos, which is not configured", shard.ErrDenied, host),
			hint:  "run kinit or give a keytab, and set HADOOP_CONF_DIR to a configuration with hadoop.security.authentication=kerberos",
		}
	}
	c, _, err := source.Client(ctx)
	if err != nil {
		return "", err
	}
	return s.negotiate(ctx, c, "HTTP/"+strings.ToLower(strings.TrimSuffix(host, ".")))
}

// negotiate makes the header. Asking the KDC cannot be cancelled, so that it goes on when ctx ends;
// gokrb5 bounds its time, and Close waits.
func (s *Store) negotiate(ctx context.Context, c *client.Client, service string) (string, error) {
	type result struct {
		header string
		err    error
	}
	done := make(chan result, 1)
	s.asking.Go(func() {
		header, err := initiate(c, service)
		done <- result{header, err}
	})
	select {
	case r := <-done:
		return r.header, krb.Classify(r.err)
	case <-ctx.Done():
		return "", cause.Of(ctx)
	}
}

func initiate(c *client.Client, service string) (string, error) {
	token, err := spnego.SPNEGOClient(c, service).InitSecContext()
	if err != nil {
		return "", err
	}
	b, err := token.Marshal()
	if err != nil {
		return "", err
	}
	return "Negotiate " + base64.StdEncoding.EncodeToString(b), nil
}

type hinted struct {
	error
	hint string
}

func (h *hinted) Unwrap() error { return h.error }
