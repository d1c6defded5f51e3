package connect

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"

	"github.com/shardfeed/shardfeed/internal/cause"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/driver"
)

// ErrNoHost is a name of a host that leads nowhere.
var ErrNoHost = fmt.Errorf("%w: no such host", shard.ErrBadURI)

// Lost puts a network's error into the words of package shard, without the URL, which may hold a
// secret.
func Lost(ctx context.Context, host string, err error) error {
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
		return fmt.Errorf("%w: %s", ErrNoHost, host)
	}
	return fmt.Errorf("%w: %s: %w", shard.ErrTransient, host, err)
}

// IsUnreachable reports whether the server, or the proxy, did not take the connection.
func IsUnreachable(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && (op.Op == "dial" || op.Op == "proxyconnect")
}

// drained is the longest rest of a body that is read so that its connection can be used again.
const drained = 64 << 10

// Drain ends an answer; a short rest is read, so that its connection can be used again.
func Drain(answer *http.Response) {
	_, _ = io.CopyN(io.Discard, answer.Body, drained)
	_ = answer.Body.Close()
}
