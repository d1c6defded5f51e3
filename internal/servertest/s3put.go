package servertest

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// Put makes or replaces an object.
func (s *S3Server) Put(t testing.TB, bucket, key string, content []byte) {
	t.Helper()
	if err := s.do(http.MethodPut, bucket, key, content); err != nil {
		t.Fatal(err)
	}
}

// PutFile makes or replaces an object from a file.
func (s *S3Server) PutFile(t testing.TB, bucket, key, path string) {
	t.Helper()
	s.Put(t, bucket, key, contentOf(t, path))
}

// Remove deletes an object.
func (s *S3Server) Remove(t testing.TB, bucket, key string) {
	t.Helper()
	if err := s.do(http.MethodDelete, bucket, key, nil); err != nil {
		t.Fatal(err)
	}
}

// do sends one signed request and expects success.
func (s *S3Server) do(method, bucket, key string, content []byte) error {
	req, err := s.request(method, bucket, key, content)
	if err != nil {
		return err
	}
	return s.send(req)
}

// request makes a signed request. Header alternates names and values; an empty value omits the
// header.
func (s *S3Server) request(method, bucket, key string, content []byte, header ...string) (*http.Request, error) {
	ctx := context.Background() // the client has a timeout
	req, err := http.NewRequestWithContext(ctx, method, s.Endpoint+"/", bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i+1] != "" {
			req.Header.Set(header[i], header[i+1])
		}
	}
	req.URL.Path = "/" + bucket
	if key != "" {
		req.URL.Path += "/" + key
	}
	req.URL.RawPath = escapePath(req.URL.Path)
	const payload = "UNSIGNED-PAYLOAD"
	req.Header.Set("X-Amz-Content-Sha256", payload)
	signer := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true })
	return req, signer.SignHTTP(ctx, aws.Credentials{AccessKeyID: s.Key, SecretAccessKey: s.Secret}, req, payload, "s3", s.Region, time.Now())
}

// escapePath escapes a path as S3 signs it: all but letters, digits and "-._~/".
func escapePath(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		parts[i] = strings.ReplaceAll(url.QueryEscape(part), "+", "%20")
	}
	return strings.Join(parts, "/")
}
