package gs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"github.com/shardfeed/shardfeed/internal/regular"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/cloud"
	"github.com/shardfeed/shardfeed/shard/driver/connect"
)

// scope is the right that tokens are asked for.
const scope = "https://www.googleapis.com/auth/devstorage.read_only"

// The values of Options.Token beside a file and its content.
const (
	anonymous     = "anon"
	googleDefault = "google_default"
	fromMetadata  = "cloud"
)

// credentials returns the signer of requests, and its description without a secret.
func (o Options) credentials(emulated bool) (by cloud.Signer, source string, err error) {
	switch {
	case o.lent != nil:
		return cloud.NewTokens(o.lent), "tokens that a catalog lends", nil
	case o.Anonymous, o.Token == anonymous, emulated && o.Token == "" && o.AccessToken == "":
		return cloud.Unsigned{}, "none (anonymous)", nil
	case o.AccessToken != "":
		return cloud.NewTokens(cloud.Fixed(o.AccessToken)), "an access token of the options", nil
	}
	clients, err := cloud.NewClients(connect.Options{CABundle: o.CABundle, Proxy: o.Proxy})
	if err != nil {
		return nil, "", err
	}
	switch {
	case o.Token == fromMetadata:
	case strings.HasPrefix(strings.TrimSpace(o.Token), "{"):
		return cloud.NewTokens(ofJSON(clients.Proxied, []byte(o.Token))), kindOf([]byte(o.Token)) + " of the options", nil
	default:
		file, content, err := o.file()
		if err != nil {
			return nil, "", err
		}
		if file != "" {
			return cloud.NewTokens(ofFile(clients.Proxied, file)), kindOf(content) + " of " + file, nil
		}
	}
	host := o.getenv("GCE_METADATA_HOST")
	return cloud.NewTokens(ofMetadata(clients.Direct, host)), "the metadata server " + cmp.Or(host, metadataHost), nil
}

// file returns the file of credentials and its content, or "".
func (o Options) file() (file string, content []byte, err error) {
	named := o.getenv("GOOGLE_APPLICATION_CREDENTIALS")
	if o.Token != "" && o.Token != googleDefault {
		named = o.Token
	}
	if named != "" {
		content, err = readFile(named)
		return named, content, err
	}
	if file = o.loginFile(); file == "" {
		return "", nil, nil
	}
	content, err = readFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil, nil
	}
	return file, content, err
}

// loginFile returns the path of the file that gcloud writes, or "".
func (o Options) loginFile() string {
	dir := o.getenv("CLOUDSDK_CONFIG")
	if home := o.getenv("HOME"); dir == "" && home != "" {
		dir = filepath.Join(home, ".config", "gcloud")
	}
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "application_default_credentials.json")
}

func readFile(file string) ([]byte, error) {
	content, err := regular.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%w: credentials: %w", shard.ErrDenied, err)
	}
	return content, nil
}

// kindOf names the kind of a file of credentials.
func kindOf(content []byte) string {
	var file struct{ Type string }
	if json.Unmarshal(content, &file) != nil || file.Type == "" {
		return "credentials"
	}
	return strings.ReplaceAll(file.Type, "_", " ")
}

// ofFile fetches tokens by a file of credentials, which is read for each.
func ofFile(client *http.Client, file string) cloud.Fetch {
	return func(ctx context.Context) (cloud.Token, error) {
		content, err := readFile(file)
		if err != nil {
			return cloud.Token{}, err
		}
		return ofJSON(client, content)(ctx)
	}
}

// ofJSON fetches tokens by a file of credentials, whose kind decides which server is asked.
func ofJSON(client *http.Client, content []byte) cloud.Fetch {
	return func(ctx context.Context) (cloud.Token, error) {
		ctx = context.WithValue(ctx, oauth2.HTTPClient, client)
		var file struct{ Type string }
		if err := json.Unmarshal(content, &file); err != nil {
			return cloud.Token{}, fmt.Errorf("%w: the credentials are not JSON", shard.ErrDenied)
		}
		found, err := google.CredentialsFromJSONWithType(ctx, content, google.CredentialsType(file.Type), scope)
		if err != nil {
			return cloud.Token{}, fmt.Errorf("%w: credentials: %w", shard.ErrDenied, err)
		}
		token, err := found.TokenSource.Token()
		if err != nil {
			return cloud.Token{}, lost(ctx, err)
		}
		return cloud.Token{Value: token.AccessToken, Expires: token.Expiry}, nil
	}
}

// lost puts the error of a request for a token into the words of package shard.
func lost(ctx context.Context, err error) error {
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok && refused.Response != nil {
		var said struct {
			Error       string
			Description string `json:"error_description"`
		}
		_ = json.Unmarshal(refused.Body, &said) // else the status has to do
		status := refused.Response.StatusCode
		return fmt.Errorf("%w: the server of tokens: %d %s%s", cmp.Or(cloud.KindOfStatus(status), cloud.ErrNoToken), status, http.StatusText(status),
			cloud.Reason(said.Error, said.Description))
	}
	if inURL, ok := errors.AsType[*url.Error](err); ok {
		host := "the server of tokens"
		if u, err := url.Parse(inURL.URL); err == nil {
			host = u.Host
		}
		return connect.Lost(ctx, host, err)
	}
	return fmt.Errorf("%w: %w", cloud.ErrNoToken, err)
}
