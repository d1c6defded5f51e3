package rest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/shardfeed/shardfeed/shard"
)

// signer returns what authorizes requests: AWS's signature, a token, or nothing.
func (c *catalog) signer(ctx context.Context, o Options) (func(*http.Request, string) error, error) {
	token := c.properties["token"]
	switch {
	case strings.EqualFold(c.properties["rest.sigv4-enabled"], "true"):
		return c.aws(ctx, o)
	case token == "" && c.properties["credential"] != "":
		var err error
		if token, err = c.exchange(ctx); err != nil {
			return nil, err
		}
	}
	return func(r *http.Request, _ string) error {
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		return nil
	}, nil
}

// exchange asks for a token by OAuth2's flow of client credentials.
func (c *catalog) exchange(ctx context.Context) (string, error) {
	id, secret, found := strings.Cut(c.properties["credential"], ":")
	if !found {
		id, secret = "", id
	}
	form := url.Values{"grant_type": {"client_credentials"}, "client_secret": {secret}, "scope": {cmp.Or(c.properties["scope"], "catalog")}}
	if id != "" {
		form.Set("client_id", id)
	}
	for _, name := range []string{"audience", "resource"} {
		if value := c.properties[name]; value != "" {
			form.Set(name, value)
		}
	}
	address := cmp.Or(c.properties["oauth2-server-uri"], strings.TrimRight(c.properties["uri"], "/")+"/v1/oauth/tokens")
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		return "", fmt.Errorf("%w: oauth2-server-uri: %w", shard.ErrBadURI, err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	var answer struct {
		Token string `json:"access_token"`
	}
	if _, err := c.answer(r, &answer); err != nil {
		return "", fmt.Errorf("asking for a token: %w", err)
	}
	if answer.Token == "" {
		return "", errors.New("asking for a token: the answer has no access_token")
	}
	return answer.Token, nil
}

// aws signs requests with the credentials of the AWS tools. Credentials in the environment of the
// options come first.
func (c *catalog) aws(ctx context.Context, o Options) (func(*http.Request, string) error, error) {
	getenv := o.getenv()
	region := cmp.Or(c.properties["rest.signing-region"], getenv("AWS_REGION"), getenv("AWS_DEFAULT_REGION"))
	var with []func(*config.LoadOptions) error
	if region != "" {
		with = append(with, config.WithRegion(region))
	}
	if key := getenv("AWS_ACCESS_KEY_ID"); key != "" {
		given := credentials.NewStaticCredentialsProvider(key, getenv("AWS_SECRET_ACCESS_KEY"), getenv("AWS_SESSION_TOKEN"))
		with = append(with, config.WithCredentialsProvider(given))
	}
	cfg, err := config.LoadDefaultConfig(ctx, with...)
	if err != nil {
		return nil, err
	}
	if cfg.Region == "" {
		return nil, fmt.Errorf("the catalog %s signs requests by AWS, which needs a region: set rest.signing-region", c.name)
	}
	service := cmp.Or(c.properties["rest.signing-name"], "execute-api")
	return func(r *http.Request, body string) error {
		return signAWS(r, body, cfg, service, time.Now())
	}, nil
}

func signAWS(r *http.Request, body string, cfg aws.Config, service string, at time.Time) error {
	given, err := cfg.Credentials.Retrieve(r.Context())
	if err != nil {
		return fmt.Errorf("%w: credentials of AWS: %w", shard.ErrDenied, err)
	}
	sum := sha256.Sum256([]byte(body))
	r.Header.Set("X-Amz-Content-Sha256", hex.EncodeToString(sum[:]))
	return v4.NewSigner().SignHTTP(r.Context(), given, r, hex.EncodeToString(sum[:]), service, cfg.Region, at)
}
