package gs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/cloud"
	"github.com/shardfeed/shardfeed/shard/driver/connect"
)

// The metadata server of machines and pods of Google's cloud.
const (
	metadataHost = "metadata.google.internal"
	metadataPath = "/computeMetadata/v1/instance/service-accounts/default/token"
)

// ofMetadata fetches tokens from the metadata server. A host "" is Google's.
func ofMetadata(client *http.Client, host string) cloud.Fetch {
	return func(ctx context.Context) (cloud.Token, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+cmp.Or(host, metadataHost)+metadataPath+"?scopes="+scope, nil)
		if err != nil {
			return cloud.Token{}, fmt.Errorf("%w: GCE_METADATA_HOST is not a host", shard.ErrBadURI)
		}
		r.Header.Set("Metadata-Flavor", "Google")
		token, err := cloud.FetchToken(client, r)
		switch {
		case errors.Is(err, connect.ErrNoHost) && host == "": // the machine is not Google's
			err = fmt.Errorf("%w: %w", shard.ErrDenied, cloud.ErrNoCredentials)
		case errors.Is(err, shard.ErrNotExist):
			err = fmt.Errorf("%w: %w: the machine has no service account", shard.ErrDenied, cloud.ErrNoCredentials)
		}
		return token, err
	}
}
