package hub

import (
	"errors"
	"fmt"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/web"
)

// errForeign is an answer that is not the hub's.
var errForeign = errors.New("the answer is not the hub's")

// errOffline is the error for a file that was not downloaded.
var errOffline = fmt.Errorf("%w: HF_HUB_OFFLINE is set, and it is not among the downloads", shard.ErrNotExist)

// wrap adds the address to an error, unless it has one, and what to try about an answer of the hub.
func wrap(op, uri string, err error) error {
	e := (*shard.Error)(nil)
	if !errors.As(err, &e) {
		e = &shard.Error{Op: op, URI: uri, Err: err}
		err = e
	}
	if h := hint(e.Err); h != "" {
		e.Hint = h
	}
	return err
}

func hint(err error) string {
	switch web.CodeOf(err) {
	case "GatedRepo":
		return "accept its terms on the hub's page, and give a token: HF_TOKEN, hf auth login or the storage option hf.token"
	case "RepoNotFound":
		return "see its name; one that is private needs a token: HF_TOKEN, hf auth login or the storage option hf.token"
	case "RevisionNotFound":
		return "see its branches and tags on the hub's page"
	}
	switch {
	case errors.Is(err, errOffline):
		return "download it by hf download, or unset HF_HUB_OFFLINE"
	case errors.Is(err, errNoParquet), errors.Is(err, shard.ErrNotExist):
		return "of other formats the hub may have a copy in parquet: give the name with @refs/convert/parquet, as in hf://datasets/ORG/NAME@refs/convert/parquet"
	case errors.Is(err, shard.ErrDenied):
		return "see whether the token is valid: HF_TOKEN, hf auth login or the storage option hf.token"
	case errors.Is(err, errForeign):
		return "a proxy or a login page may answer in its place: see HF_ENDPOINT and https_proxy"
	}
	return ""
}
