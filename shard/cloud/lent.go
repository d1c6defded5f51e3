package cloud

import (
	"context"
	"sync/atomic"

	"github.com/shardfeed/shardfeed/shard"
)

// Lent fetches tokens that a catalog lends: the first one, and what it is asked for after that.
// read takes a token out of credentials.
func Lent(first shard.Credentials, renew shard.Renew, read func(shard.Credentials) (Token, error)) Fetch {
	var used atomic.Bool
	return func(ctx context.Context) (Token, error) {
		if given, err := read(first); used.CompareAndSwap(false, true) && (err != nil || given.lasts(renewBefore)) {
			return given, err
		}
		next, err := renew(ctx)
		if err != nil {
			return Token{}, err
		}
		return read(next)
	}
}
