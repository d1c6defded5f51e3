package gs

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/cloud"
	"github.com/shardfeed/shardfeed/shard/driver/bucket"
)

// The names of properties that a catalog lends.
const (
	lentToken   = "gcs.oauth2.token"
	lentExpiry  = "gcs.oauth2.token-expires-at"
	lentHost    = "gcs.service.host"
	lentProject = "gcs.user-project"
)

// lend returns a store that uses the tokens of a catalog.
func (o Options) lend(_ bucket.Location, first shard.Credentials, renew shard.Renew) (*cloud.Store, error) {
	if first[lentToken] == "" {
		return nil, errors.ErrUnsupported
	}
	o.Token, o.AccessToken, o.Anonymous = "", "", false
	o.Endpoint = cmp.Or(o.Endpoint, first[lentHost])
	o.UserProject = cmp.Or(o.UserProject, first[lentProject])
	o.lent = cloud.Lent(first, renew, func(c shard.Credentials) (cloud.Token, error) {
		if c[lentToken] == "" {
			return cloud.Token{}, fmt.Errorf("%w: the catalog lends no %s", shard.ErrDenied, lentToken)
		}
		return cloud.Token{Value: c[lentToken], Expires: c.Expiry(lentExpiry)}, nil
	})
	return New(o), nil
}
