package azure

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/cloud"
	"github.com/shardfeed/shardfeed/shard/driver/bucket"
)

// The names of properties that a catalog lends. A dot and the host of the account follow, or a dot
// and the account; some catalogs add nothing.
const (
	lentSAS       = "adls.sas-token"
	lentSASExpiry = "adls.sas-token-expires-at-ms"
	lentToken     = "adls.token"
)

// A borrowed reads what a catalog lends for an account.
type borrowed struct {
	account  string
	suffixes []string // of the names of properties, the most exact one first
}

// named returns the names of a property for the account.
func (b borrowed) named(property string) (names []string) {
	for _, suffix := range b.suffixes {
		names = append(names, property+suffix)
	}
	return names
}

// find returns the value of a property, or "".
func (b borrowed) find(c shard.Credentials, property string) string {
	for _, name := range b.named(property) {
		if c[name] != "" {
			return c[name]
		}
	}
	return ""
}

// read takes the value of a property out of credentials.
func (b borrowed) read(property string) func(shard.Credentials) (cloud.Token, error) {
	return func(c shard.Credentials) (cloud.Token, error) {
		value := b.find(c, property)
		if value == "" {
			return cloud.Token{}, fmt.Errorf("%w: the catalog lends no %s for account %s", shard.ErrDenied, property, b.account)
		}
		return cloud.Token{Value: value, Expires: c.Expiry(b.named(lentSASExpiry)...)}, nil
	}
}

// lend returns a store that uses the signatures, or the tokens, of a catalog.
func (o Options) lend(at bucket.Location, first shard.Credentials, renew shard.Renew) (*cloud.Store, error) {
	p, err := parsePlace(at.Bucket)
	if err != nil {
		return nil, err
	}
	own := cmp.Or(o.Account, o.first("AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT"))
	o.Account = cmp.Or(p.account(), own)
	if o.Account != own {
		o.Endpoint = ""
	}
	b := borrowed{o.Account, []string{"." + strings.Replace(p.host, ".blob.", ".dfs.", 1), "." + p.host, "." + o.Account, ""}}
	switch {
	case b.find(first, lentSAS) != "":
		o.lent = cloud.NewTokensIn(cloud.Lent(first, renew, b.read(lentSAS)), func(r *http.Request, text string) error {
			by, err := newSignature(text)
			if err != nil {
				return err
			}
			return by.Sign(r)
		})
	case b.find(first, lentToken) != "":
		o.lent = cloud.NewTokens(cloud.Lent(first, renew, b.read(lentToken)))
	default:
		return nil, errors.ErrUnsupported
	}
	o.Key, o.SAS, o.ConnectionString, o.AccessToken, o.ClientSecret, o.Anonymous = "", "", "", "", "", false
	return New(o), nil
}
