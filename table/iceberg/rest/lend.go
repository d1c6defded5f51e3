package rest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/shardfeed/shardfeed/shard"
)

// delegation asks a catalog for credentials of a table's files.
const delegation, vended = "X-Iceberg-Access-Delegation", "vended-credentials"

// A grant is credentials for the files below a prefix.
type grant struct {
	Prefix string            `json:"prefix"`
	Config map[string]string `json:"config"`
}

// expiries are the properties with the time that credentials expire, in milliseconds.
var expiries = []string{"s3.session-token-expires-at-ms", "expiration-time"}

const lentKey = "s3.access-key-id"

// grants returns the credentials for S3 that the catalog lends with a table: for prefixes, else for
// its location.
func (l *loaded) grants() []grant {
	var all []grant
	for _, g := range l.Credentials {
		if g.Config[lentKey] != "" && isS3(g.Prefix) {
			g.Config = merged(l.Config, g.Config)
			all = append(all, g)
		}
	}
	if len(all) == 0 && l.Config[lentKey] != "" && isS3(l.Location) {
		bucket, _, _ := strings.Cut(strings.SplitN(l.Location, "://", 2)[1], "/")
		all = append(all, grant{Prefix: "s3://" + bucket, Config: l.Config})
	}
	return all
}

func merged(a, b map[string]string) map[string]string {
	all := maps.Clone(b)
	for name, value := range a {
		if _, ok := all[name]; !ok {
			all[name] = value
		}
	}
	return all
}

func isS3(address string) bool {
	scheme, _ := shard.SplitScheme(address)
	return scheme == "s3" || scheme == "s3a" || scheme == "s3n"
}

func (g grant) credentials() shard.Credentials {
	c := shard.Credentials{Properties: g.Config}
	for _, name := range expiries {
		if ms, err := strconv.ParseInt(g.Config[name], 10, 64); err == nil && c.Expires.IsZero() {
			c.Expires = time.UnixMilli(ms)
		}
	}
	return c
}

// lend gives the catalog's credentials to the store that reads the table's files. The catalog is
// asked again before they expire.
func (o Options) lend(a address, l *loaded, store shard.Store) error {
	for _, g := range l.grants() {
		renew := func(ctx context.Context) (shard.Credentials, error) {
			next, err := o.load(ctx, a)
			if err != nil {
				return shard.Credentials{}, fmt.Errorf("%w: renewing the credentials of the catalog: %w", shard.ErrDenied, err)
			}
			for _, n := range next.grants() {
				if n.Prefix == g.Prefix {
					return n.credentials(), nil
				}
			}
			return shard.Credentials{}, fmt.Errorf("%w: the catalog %s lends no more credentials for %s", shard.ErrDenied, a.catalog, g.Prefix)
		}
		if err := shard.Borrow(store, g.Prefix, g.credentials(), renew); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
	}
	return nil
}
