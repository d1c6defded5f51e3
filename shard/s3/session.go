package s3

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/logging"
)

// Idle connections that are kept. The SDK keeps 10 to a host, so that every burst of reads would connect, and shake hands, anew.
const (
	idlePerHost = 512
	idleInAll   = 1024
	readBuffer  = 64 << 10 // bytes; longer reads go past the buffer, straight into the caller's memory
)

// dialTimeout is within what an address answers that somebody listens at.
const dialTimeout = 10 * time.Second

// fallbackRegion is signed for where nobody names a region: what servers other than AWS expect.
const fallbackRegion = "us-east-1"

// A session is what the environment, the profiles and the options said when they were read, and the clients that were made from it.
type session struct {
	cfg        aws.Config
	transport  *http.Transport
	endpoint   string // that somebody set, or "" for AWS
	regionFrom string // who named cfg.Region, or "" when nobody did
	pathStyle  bool
	anonymous  bool
	profile    string // that was named, or ""

	mu      sync.Mutex
	clients map[string]*s3.Client // by region
}

// newSession reads the configuration and gets credentials, so that their absence is one error with a name.
func newSession(ctx context.Context, o Options) (s *session, err error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", errOptions, err)
	}
	err = o.inEnvironment(func() error {
		s, err = configure(ctx, o)
		return err
	})
	return s, err
}

func configure(ctx context.Context, o Options) (*session, error) {
	options, err := loadOptions(o)
	if err != nil {
		return nil, err
	}
	cfg, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errOptions, err)
	}
	s := &session{cfg: cfg, anonymous: o.Anonymous, regionFrom: regionFrom(o, cfg), clients: make(map[string]*s3.Client)}
	s.profile = cmp.Or(o.Profile, os.Getenv("AWS_PROFILE"))
	if cfg.Region == "" { // who asks for a role's credentials needs one all the same
		if s.cfg, err = config.LoadDefaultConfig(ctx, append(options, config.WithDefaultRegion(fallbackRegion))...); err != nil {
			return nil, fmt.Errorf("%w: %w", errOptions, err)
		}
	}
	s.useTransport()
	settings := s3.NewFromConfig(s.cfg).Options()
	if o.EndpointURL != "" {
		settings.BaseEndpoint = &o.EndpointURL
	}
	s.endpoint = aws.ToString(settings.BaseEndpoint)
	if s.pathStyle = s.endpoint != ""; o.PathStyle != nil {
		s.pathStyle = *o.PathStyle
	}
	if s.anonymous {
		return s, nil
	}
	if _, err := s.cfg.Credentials.Retrieve(ctx); err != nil {
		return nil, fmt.Errorf("%w: %w", errNoCredentials, err)
	}
	return s, nil
}

func loadOptions(o Options) ([]func(*config.LoadOptions) error, error) {
	transport, err := transportOptions(o)
	if err != nil {
		return nil, err
	}
	web := awshttp.NewBuildableClient().WithTransportOptions(transport).WithDialerOptions(func(d *net.Dialer) { d.Timeout = dialTimeout })
	options := []func(*config.LoadOptions) error{config.WithHTTPClient(web), config.WithLogger(logging.Nop{})} // what is worth saying is an error
	if o.Region != "" {
		options = append(options, config.WithRegion(o.Region))
	}
	if o.Profile != "" {
		options = append(options, config.WithSharedConfigProfile(o.Profile))
	}
	switch {
	case o.Anonymous:
		options = append(options, config.WithCredentialsProvider(aws.AnonymousCredentials{}))
	case o.Key != "":
		options = append(options, config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider(o.Key, o.Secret, o.Token)))
	}
	if o.CABundle != "" {
		pem, err := os.ReadFile(o.CABundle)
		if err != nil {
			return nil, fmt.Errorf("%w: %w: %w", errOptions, errBundle, err)
		}
		if !x509.NewCertPool().AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%w: %w: there is no certificate in %s", errOptions, errBundle, o.CABundle)
		}
		options = append(options, config.WithCustomCABundle(bytes.NewReader(pem)))
	}
	return options, nil
}

func transportOptions(o Options) (func(*http.Transport), error) {
	var proxy *url.URL
	if o.Proxy != "" {
		var err error
		if proxy, err = url.Parse(o.Proxy); err != nil {
			return nil, fmt.Errorf("%w: the proxy's address cannot be read", errOptions)
		}
	}
	return func(t *http.Transport) {
		t.MaxIdleConnsPerHost, t.MaxIdleConns = idlePerHost, idleInAll
		t.ReadBufferSize = readBuffer
		t.DisableCompression = true
		t.ForceAttemptHTTP2 = false
		t.TLSNextProto = make(map[string]func(string, *tls.Conn) http.RoundTripper) // HTTP/2 would put all ranges into one connection
		if proxy != nil {
			t.Proxy = http.ProxyURL(proxy)
		}
	}, nil
}

// useTransport gives the clients a transport that the session can close. The one inside the configuration serves those who get credentials.
func (s *session) useTransport() {
	buildable, ok := s.cfg.HTTPClient.(*awshttp.BuildableClient)
	if !ok {
		return // whoever changed it has its own rules
	}
	s.transport = buildable.GetTransport()
	s.cfg.HTTPClient = &http.Client{Transport: boundAnswers{s.transport}, CheckRedirect: checkRedirect}
}

// regionFrom says who named the region.
func regionFrom(o Options, cfg aws.Config) string {
	switch {
	case cfg.Region == "":
		return ""
	case o.Region != "":
		return "by option"
	case cfg.Region == os.Getenv("AWS_REGION"), cfg.Region == os.Getenv("AWS_DEFAULT_REGION"):
		return "by the environment"
	}
	return "by the profile"
}

// client returns the client of a region.
func (s *session) client(region string, o Options) *s3.Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, ok := s.clients[region]; ok {
		return c
	}
	c := s3.NewFromConfig(s.cfg, func(so *s3.Options) {
		so.Region = region
		so.UsePathStyle = s.pathStyle
		so.UseARNRegion = true        // an access point's name says where it is
		so.Retryer = aws.NopRetryer{} // see patience: tries are counted over whole reads
		so.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
		so.DisableLogOutputChecksumValidationSkipped = true
		if o.EndpointURL != "" {
			so.BaseEndpoint = &o.EndpointURL
		}
	})
	s.clients[region] = c
	return c
}

// close ends idle connections.
func (s *session) close() {
	if s.transport != nil {
		s.transport.CloseIdleConnections()
	}
}

// What is wrong before a request is sent.
var (
	errOptions       = errors.New("the S3 settings")
	errBundle        = errors.New("the CA bundle")
	errNoCredentials = errors.New("no AWS credentials")
)
