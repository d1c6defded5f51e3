package connect

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/shardfeed/shardfeed/internal/regular"
)

const (
	dialTime = 5 * time.Second
	idleTime = 90 * time.Second
	maxIdle  = 512 // connections that wait for their next request
)

// Options configure a transport. The zero value is ready for use.
type Options struct {
	CABundle string // file of certificates that servers are checked with besides the system's
	Proxy    string // URL of an HTTP proxy; "": as HTTP_PROXY, HTTPS_PROXY and NO_PROXY say
}

// Transport returns a transport without HTTP/2, as each body wants a connection.
func (o Options) Transport() (*http.Transport, error) {
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
