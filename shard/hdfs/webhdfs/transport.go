package webhdfs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/shardfeed/shardfeed/internal/cause"
	"github.com/shardfeed/shardfeed/internal/regular"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/driver"
)

const (
	dialTime = 5 * time.Second
	idleTime = 90 * time.Second
	maxIdle  = 512 // connections that wait for their next request
)

// newTransport makes a store's HTTP client: without HTTP/2, as each body wants a connection.
func (o Options) newTransport() (*http.Transport, error) {
	t := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: dialTime, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout: 2 * dialTime,
		MaxIdleConns:        maxIdle,
		MaxIdleConnsPerHost: maxIdle,
		IdleConnTimeout:     idleTime,
		DisableCompression:  true,
		ReadBufferSize:      64 << 10,
		TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS12},
		TLSNextProto:        map[string]func(string, *tls.Conn) http.RoundTripper{}, // no HTTP/2
	}
	if o.Proxy != "" {
		u, err := url.Parse(o.Proxy)
		if err != nil {
			return nil, errors.New("the URL of the proxy cannot be read")
		}
		t.Proxy = http.ProxyURL(u)
	}
	if o.CABundle == "" {
		return t, nil
	}
	pem, err := regular.ReadFile(o.CABundle)
	if err != nil {
		return nil, fmt.Errorf("certificates: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate", o.CABundle)
	}
	t.TLSClientConfig.RootCAs = pool
	return t, nil
}

// lost puts a network's error into the words of package shard, without the URL and its token.
func lost(ctx context.Context, host string, err error) error {
	if driver.Stalled(ctx) {
		return fmt.Errorf("%w: %s: %w", shard.ErrTransient, host, driver.ErrStalled)
	}
	if ctx.Err() != nil {
		return cause.Of(ctx)
	}
	var inURL *url.Error
	if errors.As(err, &inURL) {
		err = inURL.Err
	}
	var (
		authority x509.UnknownAuthorityError
		invalid   x509.CertificateInvalidError
		name      x509.HostnameError
		plain     tls.RecordHeaderError
		dns       *net.DNSError
	)
	switch {
	case errors.As(err, &authority), errors.As(err, &invalid), errors.As(err, &name):
		return fmt.Errorf("%w: %s: %w", shard.ErrDenied, host, err)
	case errors.As(err, &plain):
		return fmt.Errorf("%w: %s does not speak https", shard.ErrBadURI, host)
	case errors.As(err, &dns) && dns.IsNotFound:
		return fmt.Errorf("%w: %s", errNoHost, host)
	}
	return fmt.Errorf("%w: %s: %w", shard.ErrTransient, host, err)
}

// errNoHost is a name that leads nowhere. Another server of the cluster may have one that does.
var errNoHost = fmt.Errorf("%w: no such host", shard.ErrBadURI)
