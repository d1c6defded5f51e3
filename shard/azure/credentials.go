package azure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/shardfeed/shardfeed/internal/regular"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/cloud"
	"github.com/shardfeed/shardfeed/shard/driver/connect"
)

// The right that tokens are asked for, as Entra and as the servers of identities spell it.
const (
	scope    = "https://storage.azure.com/.default"
	resource = "https://storage.azure.com/"
)

// credentials returns the signer of requests, and its description without a secret. forAll reports
// that it is for all accounts.
func (o Options) credentials(account string) (by cloud.Signer, source string, forAll bool, err error) {
	if o.lent != nil {
		return o.lent, "what a catalog lends", false, nil
	}
	if o.Anonymous {
		return cloud.Unsigned{}, "none (anonymous)", true, nil
	}
	if by, source, err := o.secret(account); by != nil || err != nil {
		return by, source, false, err
	}
	clients, err := cloud.NewClients(connect.Options{CABundle: o.CABundle, Proxy: o.Proxy})
	if err != nil {
		return nil, "", false, err
	}
	fetch, source := o.tokens(clients)
	return cloud.NewTokens(fetch), source, true, nil
}

// secret returns the signer by a key or a signature, or nil.
func (o Options) secret(account string) (cloud.Signer, string, error) {
	key, sas, from := o.Key, o.SAS, "of the options"
	if !o.given() {
		key = o.first("AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_KEY")
		sas, from = o.first("AZURE_STORAGE_SAS_TOKEN"), "of the environment"
	}
	switch {
	case key != "":
		by, err := newSharedKey(account, key)
		return by, "the key of account " + account + " " + from, err
	case sas != "":
		by, err := newSignature(sas)
		return by, "a shared access signature " + from, err
	}
	return nil, "", nil
}

// tokens returns the source of tokens of OAuth.
func (o Options) tokens(clients cloud.Clients) (cloud.Fetch, string) {
	tenant, client := cmp.Or(o.TenantID, o.first("AZURE_TENANT_ID", "AZURE_STORAGE_TENANT_ID")), cmp.Or(o.ClientID, o.first("AZURE_CLIENT_ID", "AZURE_STORAGE_CLIENT_ID"))
	secret := cmp.Or(o.ClientSecret, o.first("AZURE_CLIENT_SECRET", "AZURE_STORAGE_CLIENT_SECRET"))
	authority := strings.TrimRight(cmp.Or(o.first("AZURE_AUTHORITY_HOST"), "https://login.microsoftonline.com"), "/")
	if !strings.Contains(authority, "://") {
		authority = "https://" + authority
	}
	entra := entra{clients.Proxied, authority + "/" + url.PathEscape(tenant) + "/oauth2/v2.0/token", client}
	file := o.first("AZURE_FEDERATED_TOKEN_FILE")
	switch {
	case o.AccessToken != "":
		return cloud.Fixed(o.AccessToken), "an access token of the options"
	case secret != "" && tenant != "" && client != "":
		return func(ctx context.Context) (cloud.Token, error) {
			return entra.token(ctx, url.Values{"client_secret": {secret}})
		}, "the secret of client " + client
	case file != "" && tenant != "" && client != "":
		return func(ctx context.Context) (cloud.Token, error) { return entra.federated(ctx, file) }, "workload identity of client " + client
	}
	return o.identity(clients.Direct, client)
}

// An entra is the server of tokens of a tenant.
type entra struct {
	client   *http.Client
	location string
	id       string // of the application that asks
}

// token asks for a token with a proof of who asks.
func (e entra) token(ctx context.Context, proof url.Values) (cloud.Token, error) {
	proof.Set("grant_type", "client_credentials")
	proof.Set("client_id", e.id)
	proof.Set("scope", scope)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.location, strings.NewReader(proof.Encode()))
	if err != nil {
		return cloud.Token{}, fmt.Errorf("%w: AZURE_AUTHORITY_HOST is not a host", shard.ErrBadURI)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	token, err := cloud.FetchToken(e.client, r)
	if errors.Is(err, shard.ErrNotExist) {
		err = fmt.Errorf("%w: there is no such tenant: %w", cloud.ErrNoToken, err)
	}
	return token, err
}

// federated asks with the token that Kubernetes writes into a file, and renews.
func (e entra) federated(ctx context.Context, file string) (cloud.Token, error) {
	assertion, err := regular.ReadFile(file)
	if err != nil {
		return cloud.Token{}, fmt.Errorf("%w: AZURE_FEDERATED_TOKEN_FILE: %w", shard.ErrDenied, err)
	}
	return e.token(ctx, url.Values{
		"client_assertion":      {strings.TrimSpace(string(assertion))},
		"client_assertion_type": {"urn:ietf:params:oauth:client-assertion-type:jwt-bearer"},
	})
}
