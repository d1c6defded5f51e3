package azure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/cloud"
)

const (
	imds      = "http://169.254.169.254" // the metadata server of machines
	imdsPath  = "/metadata/identity/oauth2/token"
	probeTime = 3 * time.Second // for the first answer of a machine's metadata server
)

// identity returns the tokens of a managed identity: of an app or of Azure ML, else of the machine.
// A client "" is the only one that there is.
func (o Options) identity(client *http.Client, id string) (cloud.Fetch, string) {
	query := url.Values{"resource": {resource}}
	who := "the managed identity"
	if id != "" {
		who += " " + id
	}
	app, ml := o.first("IDENTITY_ENDPOINT"), o.first("MSI_ENDPOINT")
	switch {
	case app != "":
		query.Set("api-version", "2019-08-01")
		setNonEmpty(query, "client_id", id)
		return asks(client, app, query, "X-Identity-Header", o.first("IDENTITY_HEADER")), who + " of this app"
	case ml != "":
		query.Set("api-version", "2017-09-01")
		setNonEmpty(query, "clientid", id)
		return asks(client, ml, query, "Secret", o.first("MSI_SECRET")), who + " of this machine of Azure ML"
	}
	query.Set("api-version", "2018-02-01")
	setNonEmpty(query, "client_id", id)
	host := cmp.Or(o.first("AZURE_POD_IDENTITY_AUTHORITY_HOST"), imds)
	return onMachine(asks(client, host+imdsPath, query, "Metadata", "true")), who + " of this machine"
}

func setNonEmpty(query url.Values, name, value string) {
	if value != "" {
		query.Set(name, value)
	}
}

// asks fetches tokens by a GET with one header.
func asks(client *http.Client, location string, query url.Values, name, value string) cloud.Fetch {
	return func(ctx context.Context) (cloud.Token, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, location+"?"+query.Encode(), nil)
		if err != nil {
			return cloud.Token{}, fmt.Errorf("%w: the endpoint of identities is not an address", shard.ErrBadURI)
		}
		r.Header.Set(name, value)
		return cloud.FetchToken(client, r)
	}
}

// onMachine takes a metadata server that does not answer its first request for one that does not
// exist.
func onMachine(from cloud.Fetch) cloud.Fetch {
	return func(ctx context.Context) (cloud.Token, error) {
		probe, cancel := context.WithTimeout(ctx, probeTime)
		defer cancel()
		token, err := from(probe)
		switch {
		case err == nil || ctx.Err() != nil:
			return token, err
		case errors.Is(err, cloud.ErrNoToken): // an answer
			return token, fmt.Errorf("%w: %w", cloud.ErrNoCredentials, err)
		case errors.Is(err, cloud.ErrNoAnswer):
			return token, fmt.Errorf("%w: %w", shard.ErrDenied, cloud.ErrNoCredentials)
		}
		return token, err
	}
}
