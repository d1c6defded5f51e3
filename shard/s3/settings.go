package s3

import (
	"cmp"
	"context"
	"crypto/sha1"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/shardfeed/shardfeed/internal/regular"
)

// settings are the settings from the options, the environment and the profile; they need no server.
type settings struct {
	options Options
	lookup  environ
	env     config.EnvConfig
	profile config.SharedConfig
	roots   *x509.CertPool // of the CA bundle; nil is the system's

	// The transports that request credentials on this machine, without the proxy of the options.
	direct   *http.Transport // of the server beside a container
	metadata *http.Client    // of the machine
}

func readSettings(ctx context.Context, o Options) (*settings, error) {
	s := &settings{options: o, lookup: o.environ()}
	var err error
	if s.env, err = s.lookup.config(); err != nil {
		return nil, fmt.Errorf("%w: %w", errOptions, err)
	}
	if s.profile, err = s.readProfile(ctx); err != nil {
		return nil, fmt.Errorf("%w: %w", errOptions, err)
	}
	if file := cmp.Or(o.CABundle, s.env.CustomCABundle, s.profile.CustomCABundle); file != "" {
		if s.roots, err = readBundle(file); err != nil {
			return nil, fmt.Errorf("%w: %w: %w", errOptions, errBundle, err)
		}
	}
	s.direct = awshttp.NewBuildableClient().GetTransport()
	s.metadata = &http.Client{CheckRedirect: checkRedirect, Transport: awshttp.NewBuildableClient().
		WithDialerOptions(func(d *net.Dialer) { d.Timeout = time.Second }). // outside of AWS, nothing answers there
		WithTransportOptions(func(t *http.Transport) { t.ResponseHeaderTimeout = time.Second }).GetTransport()}
	return s, nil
}

func (s *settings) profileName() string { return cmp.Or(s.options.Profile, s.env.SharedConfigProfile) }

// readProfile reads the profile. A configured one must exist.
func (s *settings) readProfile(ctx context.Context) (config.SharedConfig, error) {
	name := cmp.Or(s.profileName(), "default")
	p, err := config.LoadSharedConfigProfile(ctx, name, func(o *config.LoadSharedConfigOptions) {
		o.ConfigFiles = []string{cmp.Or(s.env.SharedConfigFile, s.lookup.inHome("config"))}
		o.CredentialsFiles = []string{cmp.Or(s.env.SharedCredentialsFile, s.lookup.inHome("credentials"))}
	})
	if missing := (config.SharedConfigProfileNotExistError{}); errors.As(err, &missing) && cmp.Or(s.options.Profile, s.lookup("AWS_PROFILE")) == "" {
		return config.SharedConfig{}, nil
	}
	return p, err
}

func readBundle(file string) (*x509.CertPool, error) {
	pem, err := regular.ReadFile(file)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("there is no certificate in %s", file)
	}
	return roots, nil
}

// region returns the configured region, and its source.
func (s *settings) region() (name, from string) {
	switch {
	case s.options.Region != "":
		return s.options.Region, "by option"
	case s.env.Region != "":
		return s.env.Region, "by the environment"
	case s.profile.Region != "":
		return s.profile.Region, "by the profile"
	}
	return "", ""
}

// endpointOf returns the address that the environment or the profile sets for a service by its name
// in the SDK, or nil. An address of the service takes precedence over a general one, then the
// environment over the profile.
func (s *settings) endpointOf(service string) *string {
	ignore := s.env.IgnoreConfiguredEndpoints
	if ignore == nil {
		ignore = s.profile.IgnoreConfiguredEndpoints
	}
	if ignore != nil && *ignore {
		return nil
	}
	key := strings.ReplaceAll(service, " ", "_")
	found := cmp.Or(s.lookup("AWS_ENDPOINT_URL_"+strings.ToUpper(key)), s.env.BaseEndpoint,
		s.profile.Services.ServiceValues[strings.ToLower(key)]["endpoint_url"], s.profile.BaseEndpoint)
	if found == "" {
		return nil
	}
	return &found
}

// config is the SDK's configuration without credentials, and with a region in any case.
func (s *settings) config(client aws.HTTPClient) aws.Config {
	region, _ := s.region()
	return aws.Config{
		Region:        cmp.Or(region, fallbackRegion), // the clients that ask for credentials need one
		HTTPClient:    client,
		Logger:        noLog, // what is worth saying is an error
		ConfigSources: []any{s.env, s.profile},
		AppID:         cmp.Or(s.env.AppID, s.profile.AppID),
		DefaultsMode:  aws.DefaultsModeLegacy,
		RetryMode:     cmp.Or(s.env.RetryMode, s.profile.RetryMode),

		RetryMaxAttempts:           cmp.Or(s.env.RetryMaxAttempts, s.profile.RetryMaxAttempts),
		AuthSchemePreference:       s.profile.AuthSchemePreference,
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired,
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenRequired,
	}
}

func (s *settings) close() {
	s.direct.CloseIdleConnections()
	s.metadata.CloseIdleConnections()
}

// sha1Name is how the AWS tools name the file of a sign-in.
func sha1Name(key string) string {
	sum := sha1.Sum([]byte(key))
	return hex.EncodeToString(sum[:]) + ".json"
}
