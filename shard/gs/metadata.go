package gs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/cloud"
	"github.com/shardfeed/shardfeed/shard/driver/connect"
)

// The metadata server of machines and pods of Google's cloud.
const (
	metadataHost = "metadata.google.internal"
	metadataPath = "/computeMetadata/v1/instance/service-accounts/default/token"
	maxMetadata  = 64 << 10 // bytes of an answer
)

// ofMetadata fetches tokens from the metadata server. A host "" is Google's.
func (c clients) ofMetadata(host string) func(context.Context) (cloud.Token, error) {
	return func(ctx context.Context) (cloud.Token, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+cmp.Or(host, metadataHost)+metadataPath+"?scopes="+scope, nil)
		if err != nil {
			return cloud.Token{}, fmt.Errorf("%w: GCE_METADATA_HOST is not a host", shard.ErrBadURI)
		}
		r.Header.Set("Metadata-Flavor", "Google")
		answer, err := c.direct.Do(r)
		if err != nil {
			if err = connect.Lost(ctx, r.URL.Host, err); errors.Is(err, connect.ErrNoHost) && host == "" {
				return cloud.Token{}, fmt.Errorf("%w: %w", shard.ErrDenied, cloud.ErrNoCredentials) // the machine is not Google's
			}
			return cloud.Token{}, err
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(io.LimitReader(answer.Body, maxMetadata))
		if err != nil {
			return cloud.Token{}, connect.Lost(ctx, r.URL.Host, err)
		}
		return tokenOf(r.URL.Host, answer, body)
	}
}

func tokenOf(host string, answer *http.Response, body []byte) (cloud.Token, error) {
	var token struct {
		Value   string `json:"access_token"`
		Seconds int64  `json:"expires_in"`
	}
	switch {
	case answer.StatusCode == http.StatusNotFound:
		return cloud.Token{}, fmt.Errorf("%w: %w: the machine has no service account", shard.ErrDenied, cloud.ErrNoCredentials)
	case answer.StatusCode >= 500 || answer.StatusCode == http.StatusTooManyRequests:
		return cloud.Token{}, fmt.Errorf("%w: %s: %s", shard.ErrTransient, host, answer.Status)
	case answer.StatusCode != http.StatusOK || json.Unmarshal(body, &token) != nil || token.Value == "":
		return cloud.Token{}, fmt.Errorf("%w: %s: %s, and no token", shard.ErrDenied, host, answer.Status)
	}
	return cloud.Token{Value: token.Value, Expires: time.Now().Add(time.Duration(token.Seconds) * time.Second)}, nil
}
