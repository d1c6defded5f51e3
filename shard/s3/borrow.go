package s3

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/shardfeed/shardfeed/shard"
)

// The names of properties that a catalog lends.
const (
	lentKey      = "s3.access-key-id"
	lentSecret   = "s3.secret-access-key"
	lentToken    = "s3.session-token"
	lentEndpoint = "s3.endpoint"
	lentPath     = "s3.path-style-access"
)

// lentExpiries are the properties of the time that the credentials expire, the first one first.
var lentExpiries = []string{"s3.session-token-expires-at-ms", "expiration-time"}

// lentRegions are the properties of a region, the first one first.
var lentRegions = []string{"s3.region", "client.region"}

// renewBefore is how long before they expire that credentials are replaced.
const renewBefore = 5 * time.Minute

// Borrow makes the store use a catalog's credentials below a prefix, by a store of their own.
func (s *Store) Borrow(prefix string, first shard.Credentials, renew shard.Renew) error {
	at, err := parse(prefix)
	if err != nil {
		return &shard.Error{Op: "borrow", URI: prefix, Err: err}
	}
	switch {
	case first[lentKey] == "":
		return errors.ErrUnsupported
	case first[lentSecret] == "":
		return &shard.Error{Op: "borrow", URI: prefix, Err: fmt.Errorf("%w: the credentials have no %s", shard.ErrDenied, lentSecret)}
	}
	o := s.o
	o.Key, o.Secret, o.Token, o.Profile, o.Anonymous = "", "", "", "", false
	o.EndpointURL = cmp.Or(o.EndpointURL, first[lentEndpoint])
	for _, name := range lentRegions {
		o.Region = cmp.Or(o.Region, first[name])
	}
	if path := first[lentPath]; path != "" && o.PathStyle == nil {
		o.PathStyle = aws.Bool(strings.EqualFold(path, "true"))
	}
	o.lender = &lender{first: first, renew: renew}
	lent := New(o)
	lent.lentBy = s
	s.loans.Add(at.identity(), lent)
	return nil
}

// of returns the store that reads an address: one with borrowed credentials, or s itself.
func (s *Store) of(uri string) *Store {
	if lent, ok := s.loans.Of(s.Identity(uri)); ok {
		return lent
	}
	return s
}

// A lender provides borrowed credentials.
type lender struct {
	mu    sync.Mutex
	first shard.Credentials // nil once it was used
	renew shard.Renew
}

// provider returns credentials that are renewed before they expire. A new session's are new.
func (l *lender) provider() aws.CredentialsProvider {
	return cached(l, func(o *aws.CredentialsCacheOptions) { o.ExpiryWindow = renewBefore })
}

// Retrieve returns the first credentials once, and asks for others after that.
func (l *lender) Retrieve(ctx context.Context) (aws.Credentials, error) {
	l.mu.Lock()
	first := l.first
	l.first = nil
	l.mu.Unlock()
	if given := lentCredentials(first); first != nil && (!given.CanExpire || time.Until(given.Expires) > renewBefore) {
		return given, nil
	}
	next, err := l.renew(ctx)
	if err != nil {
		return aws.Credentials{}, err
	}
	return lentCredentials(next), nil
}

func lentCredentials(c shard.Credentials) aws.Credentials {
	expires := c.Expiry(lentExpiries...)
	return aws.Credentials{
		AccessKeyID: c[lentKey], SecretAccessKey: c[lentSecret], SessionToken: c[lentToken],
		Source: lentSource, CanExpire: !expires.IsZero(), Expires: expires,
	}
}

// lentSource names the source of borrowed credentials.
const lentSource = "Catalog"
