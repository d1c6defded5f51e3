package s3

import (
	"cmp"
	"context"
	"fmt"
	"slices"
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

// lentRegions are the properties of a region, the first one first.
var lentRegions = []string{"s3.region", "client.region"}

// renewBefore is how long before they expire that credentials are replaced.
const renewBefore = 5 * time.Minute

// loans are the prefixes that a store reads with borrowed credentials, the longest first.
type loans struct {
	mu  sync.RWMutex
	all []loan
}

type loan struct {
	prefix string // identity of an address
	store  *Store
}

// Borrow makes the store use a catalog's credentials below a prefix, by a store of their own.
func (s *Store) Borrow(prefix string, first shard.Credentials, renew func(context.Context) (shard.Credentials, error)) error {
	at, err := parse(prefix)
	if err != nil {
		return &shard.Error{Op: "borrow", URI: prefix, Err: err}
	}
	if first.Properties[lentKey] == "" || first.Properties[lentSecret] == "" {
		return &shard.Error{Op: "borrow", URI: prefix, Err: fmt.Errorf("%w: the credentials have no %s or no %s", shard.ErrDenied, lentKey, lentSecret)}
	}
	o := s.o
	o.Key, o.Secret, o.Token, o.Profile, o.Anonymous = "", "", "", "", false
	o.EndpointURL = cmp.Or(o.EndpointURL, first.Properties[lentEndpoint])
	for _, name := range lentRegions {
		o.Region = cmp.Or(o.Region, first.Properties[name])
	}
	if path := first.Properties[lentPath]; path != "" && o.PathStyle == nil {
		o.PathStyle = aws.Bool(strings.EqualFold(path, "true"))
	}
	o.lender = &lender{first: &first, renew: renew}
	lent := New(o)
	lent.lentBy = s
	s.loans.add(loan{at.identity(), lent})
	return nil
}

func (l *loans) add(one loan) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = slices.DeleteFunc(l.all, func(old loan) bool { return old.prefix == one.prefix })
	l.all = append(l.all, one)
	slices.SortStableFunc(l.all, func(a, b loan) int { return len(b.prefix) - len(a.prefix) })
}

// of returns the store that reads an address: one with borrowed credentials, or s itself.
func (s *Store) of(uri string) *Store {
	s.loans.mu.RLock()
	defer s.loans.mu.RUnlock()
	if len(s.loans.all) == 0 {
		return s
	}
	identity := s.Identity(uri)
	for _, l := range s.loans.all {
		if below, ok := strings.CutPrefix(identity, strings.TrimRight(l.prefix, "/")); ok && (below == "" || below[0] == '/') {
			return l.store
		}
	}
	return s
}

// lent returns the stores with borrowed credentials.
func (s *Store) lent() (all []*Store) {
	s.loans.mu.RLock()
	defer s.loans.mu.RUnlock()
	for _, l := range s.loans.all {
		all = append(all, l.store)
	}
	return all
}

// A lender provides borrowed credentials.
type lender struct {
	mu    sync.Mutex
	first *shard.Credentials // nil once it was used
	renew func(context.Context) (shard.Credentials, error)
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
	if first != nil && (first.Expires.IsZero() || time.Until(first.Expires) > renewBefore) {
		return lentCredentials(first), nil
	}
	next, err := l.renew(ctx)
	if err != nil {
		return aws.Credentials{}, err
	}
	return lentCredentials(&next), nil
}

func lentCredentials(c *shard.Credentials) aws.Credentials {
	return aws.Credentials{
		AccessKeyID: c.Properties[lentKey], SecretAccessKey: c.Properties[lentSecret], SessionToken: c.Properties[lentToken],
		Source: lentSource, CanExpire: !c.Expires.IsZero(), Expires: c.Expires,
	}
}

// lentSource names the source of borrowed credentials.
const lentSource = "Catalog"
