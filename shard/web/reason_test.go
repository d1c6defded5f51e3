package web

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestReason(t *testing.T) {
	for _, c := range []struct {
		name, kind, body string
		head             map[string]string
		code, text       string
	}{
		{"a bucket's", "application/xml", "<?xml version=\"1.0\"?><Error><Code>NoSuchKey</Code><Message>It is not there.\nRequestId:1</Message></Error>", nil, "NoSuchKey", "It is not there."},
		{"Azure's", "application/xml", "", map[string]string{"X-Ms-Error-Code": "BlobNotFound"}, "BlobNotFound", ""},
		{"Google's", "application/json; charset=UTF-8", `{"error":{"code":403,"message":"no","errors":[{"reason":"forbidden"}]}}`, nil, "forbidden", "no"},
		{"the hub's", "text/html", "<html>", map[string]string{"X-Error-Code": "GatedRepo", "X-Error-Message": "ask"}, "GatedRepo", "ask"},
		{"plain text", "text/plain", "No such object: b/o\nmore", nil, "", "No such object: b/o"},
		{"a page", "text/html", "<html>secret", nil, "", ""},
		{"other XML", "application/xml", "<html>secret</html>", nil, "", ""},
		{"other JSON", "application/json", `["secret"]`, nil, "", ""},
		{"a long text", "text/plain", strings.Repeat("x", 10_000), nil, "", strings.Repeat("x", maxText)},
	} {
		t.Run(c.name, func(t *testing.T) {
			answer := &http.Response{Header: http.Header{"Content-Type": {c.kind}}, Body: io.NopCloser(strings.NewReader(c.body))}
			for name, value := range c.head {
				answer.Header.Set(name, value)
			}
			if code, text := reason(answer); code != c.code || text != c.text {
				t.Errorf("%q, %q", code, text)
			}
		})
	}
}

// A signer adds a header, and a query to the URL.
type signer struct{ Plain }

func (signer) Sign(r *http.Request) error {
	u := *r.URL
	u.RawQuery, r.URL = "sig=SECRET", &u
	r.Header.Set("Authorization", "Bearer SECRET")
	return nil
}

// A signature is for the servers of addresses: another one, to which they redirect, gets none.
func TestSignatureStays(t *testing.T) {
	var elsewhere, here *http.Request
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		elsewhere = r
		http.ServeContent(w, r, "", time.Unix(1e9, 0), strings.NewReader("0123456789"))
	}))
	defer other.Close()
	first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		here = r
		http.Redirect(w, r, other.URL+"/g", http.StatusFound)
	}))
	defer first.Close()
	s := New(Options{Protocol: signer{}})
	defer s.Close()
	if e, _, err := s.Look(t.Context(), first.URL+"/f"); err != nil || e.Size != 10 {
		t.Fatal(e, err)
	}
	if here.Header.Get("Authorization") == "" || here.URL.RawQuery != "sig=SECRET" {
		t.Errorf("the server of the address got %v?%s", here.Header, here.URL.RawQuery)
	}
	if elsewhere.Header.Get("Authorization") != "" || elsewhere.URL.RawQuery != "" {
		t.Errorf("the other one got %v?%s", elsewhere.Header, elsewhere.URL.RawQuery)
	}
}
