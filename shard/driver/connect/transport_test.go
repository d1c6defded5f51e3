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
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/driver"
)

func TestLost(t *testing.T) {
	inURL := func(err error) error {
		return &url.Error{Op: "Get", URL: "http://dn:9864/webhdfs/v1/x?op=OPEN&delegation=SECRET", Err: err}
	}
	for _, c := range []struct{ err, want error }{
		{io.ErrUnexpectedEOF, shard.ErrTransient},
		{&net.OpError{Op: "dial", Err: errors.New("refused")}, shard.ErrTransient},
		{x509.UnknownAuthorityError{}, shard.ErrDenied},
		{x509.HostnameError{Certificate: &x509.Certificate{}, Host: "h"}, shard.ErrDenied},
		{tls.RecordHeaderError{Msg: "x"}, shard.ErrBadURI},
		{&net.DNSError{IsNotFound: true}, ErrNoHost},
		{&net.DNSError{IsTimeout: true}, shard.ErrTransient},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			err := Lost(t.Context(), "h:1", inURL(c.err))
			if !errors.Is(err, c.want) || strings.Contains(err.Error(), "SECRET") || !strings.Contains(err.Error(), "h:1") {
				t.Errorf("%v became %v", c.err, err)
			}
		})
	}
	ctx, stop := context.WithCancelCause(t.Context())
	stop(driver.ErrStalled)
	if err := Lost(ctx, "h:1", inURL(context.Canceled)); !errors.Is(err, shard.ErrTransient) || !errors.Is(err, driver.ErrStalled) {
		t.Error(err)
	}
}

func TestTransport(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty.pem")
	if err := os.WriteFile(empty, []byte("nothing"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{empty, filepath.Join(dir, "none")} {
		if _, err := (Options{CABundle: file}).Transport(); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("error %v", err)
		}
	}
	transport, err := Options{Proxy: "http://proxy:3128"}.Transport()
	if err != nil {
		t.Fatal(err)
	}
	if u, err := transport.Proxy(&http.Request{URL: &url.URL{Scheme: "https", Host: "x"}}); err != nil || u.Host != "proxy:3128" {
		t.Errorf("proxy %v, %v", u, err)
	}
}
