package s3

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/logging"
)

// Idle connections that are kept. The SDK keeps 10 to a host, so that every burst of reads would
// connect, and shake hands, again.
const (
	idlePerHost = 512
	idleInAll   = 1024
	readBuffer  = 64 << 10 // bytes; longer reads go past the buffer, straight into the caller's memory
)

// dialTimeout is within what an address answers that somebody listens at.
const dialTimeout = 10 * time.Second

// fallbackRegion is the region of signatures if none is configured: other servers expect it.
const fallbackRegion = "us-east-1"

// A session holds the settings from the environment, the profiles and the options, and the clients
// made from them.
type session struct {
	*settings
	cfg        aws.Config
	transport  *http.Transport
	endpoint   string // that somebody set, or "" for AWS
	regionFrom string // where the region was configured, or ""
	pathStyle  bool
	anonymous  bool

	mu      sync.Mutex
	clients map[string]*s3.Client // by region
}

// noLog takes what the SDK would print.
var noLog = logging.Nop{}

// newSession reads the configuration and gets credentials, so that their absence is one error with
// a name.
func newSession(ctx context.Context, o Options) (*session, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", errOptions, err)
	}
	read, err := readSettings(ctx, o)
	if err != nil {
		return nil, err
	}
	s := &session{settings: read, anonymous: o.Anonymous, clients: make(map[string]*s3.Client)}
	if s.transport, err = newTransport(o, read.roots); err != nil {
		return nil, err
	}
	_, s.regionFrom = read.region()
	s.endpoint = cmp.Or(o.EndpointURL, aws.ToString(read.endpointOf("S3")))
	if s.pathStyle = s.endpoint != ""; o.PathStyle != nil {
		s.pathStyle = *o.PathStyle
	}
	s.cfg = read.config(&http.Client{Transport: boundAnswers{s.transport}, CheckRedirect: checkRedirect})
	if err := s.findCredentials(ctx); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// findCredentials gets credentials once, so that a request does not fail for lack of them.
func (s *session) findCredentials(ctx context.Context) (err error) {
	switch o := s.options; {
	case o.lender != nil:
		s.cfg.Credentials = o.lender.provider()
	case s.anonymous:
		s.cfg.Credentials = aws.AnonymousCredentials{}
		return nil
	case o.Key != "":
		s.cfg.Credentials = credentials.NewStaticCredentialsProvider(o.Key, o.Secret, o.Token)
		return nil
	default:
		if s.cfg.Credentials, err = (chain{s.settings, s.cfg}).provider(ctx); err != nil {
			return fmt.Errorf("%w: %w", errOptions, err)
		}
	}
	if _, err := s.cfg.Credentials.Retrieve(ctx); err != nil {
		return fmt.Errorf("%w: %w", errNoCredentials, err)
	}
	return nil
}

// newTransport makes the connections of a session: HTTP/1.1 without compression.
func newTransport(o Options, roots *x509.CertPool) (*http.Transport, error) {
	t := awshttp.NewBuildableClient().WithDialerOptions(func(d *net.Dialer) { d.Timeout = dialTimeout }).GetTransport()
	t.MaxIdleConnsPerHost, t.MaxIdleConns = idlePerHost, idleInAll
	t.ReadBufferSize = readBuffer
	t.DisableCompression = true
	t.ForceAttemptHTTP2 = false
	t.TLSNextProto = make(map[string]func(string, *tls.Conn) http.RoundTripper) // HTTP/2 would put all ranges into one connection
	if o.Proxy != "" {
		proxy, err := url.Parse(o.Proxy)
		if err != nil {
			return nil, fmt.Errorf("%w: the proxy's address cannot be read", errOptions)
		}
		t.Proxy = http.ProxyURL(proxy)
	}
	if roots != nil {
		t.TLSClientConfig.RootCAs = roots
	}
	return t, nil
}

func (s *session) client(region string) *s3.Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, ok := s.clients[region]; ok {
		return c
	}
	c := s3.NewFromConfig(s.cfg, func(so *s3.Options) {
		so.Region = region
		so.UsePathStyle = s.pathStyle
		so.UseARNRegion = true        // an access point's name contains its region
		so.Retryer = aws.NopRetryer{} // tries are counted over whole reads
		so.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
		so.DisableLogOutputChecksumValidationSkipped = true
		if so.BaseEndpoint = nil; s.endpoint != "" {
			so.BaseEndpoint = &s.endpoint
		}
	})
	s.clients[region] = c
	return c
}

func (s *session) close() {
	s.transport.CloseIdleConnections()
	s.settings.close()
}

// What is wrong before a request is sent.
var (
	errOptions       = errors.New("the S3 settings")
	errBundle        = errors.New("the CA bundle")
	errNoCredentials = errors.New("no AWS credentials")
)
