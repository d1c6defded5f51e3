package rest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/shardfeed/shardfeed/shard"
)

// delegation asks a catalog for credentials of a table's files.
const delegation, vended = "X-Iceberg-Access-Delegation", "vended-credentials"

// A grant is credentials for the files below a prefix.
type grant struct {
	Prefix string            `json:"prefix"`
	Config map[string]string `json:"config"`
}

// grants returns the properties that the catalog lends with a table: for prefixes, else for where
// the table is. A store finds its own credentials among them.
func (l *loaded) grants() (all []grant) {
	root := authority(l.Location)
	for _, g := range l.Credentials {
		if !strings.Contains(g.Prefix, "://") && strings.HasPrefix(root, g.Prefix) { // "s3" is for all of S3
			g.Prefix = root
		}
		g.Config = merged(l.Config, g.Config)
		all = append(all, g)
	}
	if len(all) == 0 && len(l.Config) > 0 {
		all = append(all, grant{Prefix: root, Config: l.Config})
	}
	return all
}

// authority returns an address up to its bucket or container.
func authority(address string) string {
	_, rest := shard.SplitScheme(address)
	bucket, _, _ := strings.Cut(rest, "/")
	return strings.TrimSuffix(address, rest) + bucket
}

// merged returns the properties of both; b wins.
func merged(a, b map[string]string) map[string]string {
	all := make(map[string]string, len(a)+len(b))
	maps.Copy(all, a)
	maps.Copy(all, b)
	return all
}

// lend gives the catalog's credentials to the store that reads the table's files. The catalog is
// asked again before they expire.
func (o Options) lend(a address, l *loaded, store shard.Store) error {
	for _, g := range l.grants() {
		renew := func(ctx context.Context) (shard.Credentials, error) {
			next, err := o.load(ctx, a)
			if err != nil {
				return nil, fmt.Errorf("%w: renewing the credentials of the catalog: %w", shard.ErrDenied, err)
			}
			for _, n := range next.grants() {
				if n.Prefix == g.Prefix {
					return n.Config, nil
				}
			}
			return nil, fmt.Errorf("%w: the catalog %s lends no more credentials for %s", shard.ErrDenied, a.catalog, g.Prefix)
		}
		if err := shard.Borrow(store, g.Prefix, g.Config, renew); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
	}
	return nil
}
