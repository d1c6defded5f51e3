package s3

import (
	"cmp"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// maxAnswer bounds an answer that is read whole: a page of a list, or an error. A page of a
// thousand keys has 5 MB at most.
const maxAnswer = 64 << 20 // bytes

var errLongAnswer = errors.New("the server's answer is longer than 64 MiB")

// boundAnswers is a transport that ends answers which would not end, where the SDK reads them
// whole. The body of an object is read by this package, as far as it asked for.
type boundAnswers struct{ http.RoundTripper }

func (b boundAnswers) RoundTrip(r *http.Request) (*http.Response, error) {
	out, err := b.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if out.StatusCode >= 300 || r.URL.Query().Has("list-type") {
		out.Body = &boundBody{ReadCloser: out.Body, left: maxAnswer}
	}
	return out, nil
}

type boundBody struct {
	io.ReadCloser
	left int64
}

func (b *boundBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errLongAnswer
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// checkRedirect follows what keeps the method. A 301, which names another region, is an answer.
func checkRedirect(r *http.Request, via []*http.Request) error {
	code := 0
	if r.Response != nil {
		code = r.Response.StatusCode
	}
	if len(via) >= 5 || code != http.StatusTemporaryRedirect && code != http.StatusPermanentRedirect {
		return http.ErrUseLastResponse
	}
	if !sameOrigin(r.URL, via[0].URL) {
		for _, name := range secretHeaders {
			r.Header.Del(name)
		}
	}
	return nil
}

// secretHeaders are headers for only the server that a request was made for. net/http itself drops
// some of them for another host name, but not for another port or scheme.
var secretHeaders = []string{"Authorization", "Cookie", "Www-Authenticate", "X-Amz-Security-Token", "X-Amz-S3session-Token"}

// sameOrigin reports whether two addresses lead to the same server: scheme, host and port.
func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && portOf(a) == portOf(b)
}

func portOf(u *url.URL) string {
	if port := u.Port(); port != "" || u.Scheme != "https" {
		return cmp.Or(port, "80")
	}
	return "443"
}
