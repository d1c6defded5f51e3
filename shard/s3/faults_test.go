package s3

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/driver"
)

// answered is an error as the SDK makes it of an answer.
func answered(status int, code, message string, header ...string) error {
	h := http.Header{}
	for i := 0; i+1 < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &smithy.OperationError{ServiceID: "S3", OperationName: "GetObject", Err: &awshttp.ResponseError{
		RequestID: "REQ1",
		ResponseError: &smithyhttp.ResponseError{
			Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status, Header: h}},
			Err:      &smithy.GenericAPIError{Code: code, Message: message},
		},
	}}
}

// sent is an error as the SDK makes it of a network's.
func sent(err error) error {
	return &smithy.OperationError{ServiceID: "S3", OperationName: "GetObject", Err: &awshttp.ResponseError{
		ResponseError: &smithyhttp.ResponseError{
			Response: &smithyhttp.Response{}, Err: &smithyhttp.RequestSendError{Err: &url.Error{Op: "Get", URL: "http://h/b/k", Err: err}},
		},
	}}
}

func dial(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }

// TestFaults: what each fault is taken for, whether it passes, and what the user is told to try.
func TestFaults(t *testing.T) {
	for _, c := range []struct {
		name    string
		err     error
		kind    error
		passing bool
		hint    string
	}{
		{"no key", answered(404, "NoSuchKey", "x"), shard.ErrNotExist, false, ""},
		{"no key by HEAD", answered(404, "NotFound", ""), shard.ErrNotExist, false, ""},
		{"no bucket", answered(404, "NoSuchBucket", "x"), shard.ErrNotExist, false, "bucket's name"},
		{"a key too long", answered(400, "KeyTooLongError", "x"), shard.ErrNotExist, false, ""},
		{"denied", answered(403, "AccessDenied", "x"), shard.ErrDenied, false, "s3:GetObject"},
		{"denied by HEAD", answered(403, "Forbidden", ""), shard.ErrDenied, false, "secret is wrong"},
		{"unknown key", answered(403, "InvalidAccessKeyId", "x"), shard.ErrDenied, false, "does not know this access key"},
		{"unknown key at versitygw", answered(404, "XAdminUserNotFound", "x"), shard.ErrDenied, false, "does not know this access key"},
		{"wrong secret", answered(403, "SignatureDoesNotMatch", "x"), shard.ErrDenied, false, "secret key does not belong"},
		{"wrong clock", answered(403, "RequestTimeTooSkewed", "x"), shard.ErrDenied, false, "clock"},
		{"expired", answered(400, "ExpiredToken", "x"), shard.ErrDenied, false, "log in again"},
		{"a token of another key", answered(400, "InvalidToken", "x"), shard.ErrDenied, false, "does not belong to the key id"},
		{"archived", answered(403, "InvalidObjectState", "x"), shard.ErrDenied, false, "restore-object"},
		{"not the version", answered(412, "PreconditionFailed", "x"), shard.ErrChanged, false, ""},
		{"shorter than it was", answered(416, "InvalidRange", "x"), shard.ErrChanged, false, ""},
		{"elsewhere", answered(301, "PermanentRedirect", "x"), shard.ErrBadURI, false, "Region"},
		{"signed for elsewhere", answered(400, "AuthorizationHeaderMalformed", "x"), shard.ErrBadURI, false, "Region"},
		{"bad bucket", answered(400, "InvalidBucketName", "x"), shard.ErrBadURI, false, ""},
		{"slow down", answered(503, "SlowDown", "x"), shard.ErrTransient, true, "fewer requests"},
		{"limit", answered(400, "RequestLimitExceeded", "x"), shard.ErrTransient, true, "fewer requests"},
		{"429", answered(429, "", ""), shard.ErrTransient, true, "fewer requests"},
		{"500", answered(500, "InternalError", "x"), shard.ErrTransient, true, ""},
		{"502 of a proxy", answered(502, "", ""), shard.ErrTransient, true, ""},
		{"too slow a client", answered(400, "RequestTimeout", "x"), shard.ErrTransient, true, ""},
		{"501", answered(501, "NotImplemented", "x"), nil, false, ""},
		{"400", answered(400, "InvalidArgument", "x"), nil, false, ""},
		{"refused", sent(dial(os.NewSyscallError("connect", syscall.ECONNREFUSED))), shard.ErrTransient, true, "EndpointURL"},
		{"no proxy", sent(&net.OpError{Op: "proxyconnect", Net: "tcp", Err: dial(syscall.ECONNREFUSED)}), shard.ErrTransient, true, "the proxy"},
		{"no such host", sent(dial(&net.DNSError{Err: "no such host", IsNotFound: true})), nil, false, "EndpointURL"},
		{"no answer of the name server", sent(dial(&net.DNSError{Err: "timeout", IsTimeout: true, IsTemporary: true})), shard.ErrTransient, true, "EndpointURL"},
		{"reset", sent(os.NewSyscallError("read", syscall.ECONNRESET)), shard.ErrTransient, true, ""},
		{"closed", sent(io.EOF), shard.ErrTransient, true, ""},
		{"cut", fmt.Errorf("the answer ended early: %w", io.ErrUnexpectedEOF), shard.ErrTransient, true, ""},
		{"stalled", fmt.Errorf("%w: after 1 s", driver.ErrStalled), shard.ErrTransient, true, "is silent"},
		{"unknown authority", sent(x509.UnknownAuthorityError{}), nil, false, "CABundle"},
		{"another host's certificate", sent(x509.HostnameError{Certificate: &x509.Certificate{}, Host: "h"}), nil, false, "CABundle"},
		{"https to a server of http", sent(http.ErrSchemeMismatch), nil, false, "begin with http://"},
		{"no bundle", fmt.Errorf("%w: %w: %w", errOptions, errBundle, syscall.ENOENT), nil, false, "PEM"},
		{"no credentials", fmt.Errorf("%w: no EC2 IMDS role found", errNoCredentials), shard.ErrDenied, false, "Anonymous"},
		{"sign-in over", fmt.Errorf("%w: the SSO session has expired or is invalid", errNoCredentials), shard.ErrDenied, false, "aws sso login"},
		{"credentials not to be had anew", errors.New("operation error S3: GetObject, get identity: get credentials: x"), shard.ErrDenied, false, "Anonymous"},
		{"changed already", fmt.Errorf("%w: was version a, is b", shard.ErrChanged), shard.ErrChanged, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := isPassing(c.err); got != c.passing {
				t.Errorf("passing %v", got)
			}
			s := New(Options{})
			err := s.wrap(t.Context(), reading, "s3://AKIA:hush@b/k", nil, c.err)
			var e *shard.Error
			if !errors.As(err, &e) || c.kind != nil && !errors.Is(err, c.kind) {
				t.Errorf("%v", err)
				return
			}
			if (c.hint == "") != (e.Hint == "") || !strings.Contains(e.Hint, c.hint) {
				t.Errorf("the hint is %q", e.Hint)
			}
			if text := err.Error(); strings.Contains(text, "hush") || strings.Contains(text, "operation error") || strings.Count(text, "changed since") > 1 {
				t.Errorf("%q", text)
			}
		})
	}
}

func TestAnonymousHint(t *testing.T) {
	hint := New(Options{Anonymous: true}).hint(reading, answered(403, "AccessDenied", "x"))
	if !strings.Contains(hint, "leave {Anonymous} away") {
		t.Error(hint)
	}
}

func TestRegionIn(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{answered(301, "PermanentRedirect", "x", "x-amz-bucket-region", "eu-west-1"), "eu-west-1"},
		{answered(400, "BadRequest", "", "x-amz-bucket-region", "eu-west-1"), "eu-west-1"},
		{answered(400, "AuthorizationHeaderMalformed", "the region 'us-east-1' is wrong; expecting 'ap-south-1'"), "ap-south-1"},
		{answered(400, "AuthorizationHeaderMalformed", `the region "eu-west-1" is wrong; expecting "us-east-1"`), "us-east-1"},
		{answered(400, "InvalidArgument", "expecting 'this'"), ""},
		{sent(io.EOF), ""},
	} {
		if got := regionIn(c.err); got != c.want {
			t.Errorf("%v: %q", c.err, got)
		}
	}
}

func TestSourceWords(t *testing.T) {
	for name, want := range map[string]string{
		"EnvConfigCredentials": "from the environment", "SharedConfigCredentials: /x": "profile p of /x", "SSOProvider": "the sign-in of profile p",
		"StaticCredentials": "from the options", "EC2RoleProvider": "the role of this machine", "WebIdentityCredentials": "a role by web identity",
		"AssumeRoleProvider": "a role that profile p takes on", "ProcessProvider": "the program that profile p names",
		"CredentialsEndpointProvider": "the role of this container", "Another": "Another",
	} {
		t.Run(name, func(t *testing.T) {
			if got := sourceWords(name, "p"); got != want {
				t.Errorf("%s", got)
			}
		})
	}
}

func TestRetryAfter(t *testing.T) {
	for _, c := range []struct {
		err  error
		want time.Duration
	}{
		{io.EOF, 0},
		{answered(503, "SlowDown", "x"), 0},
		{answered(503, "SlowDown", "x", "Retry-After", "3"), 3 * time.Second},
		{answered(503, "SlowDown", "x", "Retry-After", "600"), 10 * time.Minute}, // which the backoff bounds
		{answered(503, "SlowDown", "x", "Retry-After", "soon"), 0},
		{answered(503, "SlowDown", "x", "Retry-After", "-1"), 0},
	} {
		t.Run(c.err.Error(), func(t *testing.T) {
			if got := retryAfter(c.err); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// TestTries: a server that does not answer is waited for, with a note, for as long as RetryFor
// says, and progress starts the time again. An unknown host is waited for once its server has
// answered.
func TestTries(t *testing.T) {
	var notes []string
	s := New(Options{RetryFor: 3 * time.Second, Events: Events{Waiting: func(text string) { notes = append(notes, text) }}})
	c := &client{endpoint: s.clients.endpoint("e", "r", s.o), region: "r", meter: s.meter("b")}
	refused, nowhere := sent(dial(syscall.ECONNREFUSED)), sent(&net.DNSError{IsNotFound: true})
	p := s.newTries("b")
	if err := p.again(t.Context(), c, nowhere); err == nil {
		t.Error("an unknown host is waited for")
	}
	start := time.Now()
	for {
		if err := p.again(t.Context(), c, refused); err != nil {
			if took := time.Since(start); took < time.Second || !errors.Is(err, shard.ErrTransient) || !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("after %v: %v", took, err)
			}
			break
		}
	}
	if len(notes) != 1 || !strings.Contains(notes[0], "does not answer") {
		t.Errorf("noted %q", notes)
	}
	c.answered.Store(true)
	p = s.newTries("b")
	if err := p.again(t.Context(), c, nowhere); err != nil {
		t.Errorf("a host that is unknown for a while: %v", err)
	}
	for range 20 {
		p.Progress()
		if err := p.again(t.Context(), c, refused); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.again(ctx, c, refused); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := p.again(t.Context(), c, answered(403, "AccessDenied", "x")); !isDenied(err) {
		t.Error(err)
	}
	p.For = 0
	if err := p.again(t.Context(), c, refused); !errors.Is(err, shard.ErrTransient) {
		t.Errorf("after hours: %v", err)
	}
}

func TestLatency(t *testing.T) {
	var l latency
	if got := l.hedgeAfter(time.Second); got != time.Second {
		t.Errorf("without answers: %v", got)
	}
	for i := range 200 {
		l.add(time.Duration(i%100) * 10 * time.Millisecond) // 0 to 990 ms
	}
	if got := l.hedgeAfter(time.Second); got < 2700*time.Millisecond || got > 3*time.Second {
		t.Errorf("three times the time of 19 of 20: %v", got)
	}
	for range 200 {
		l.add(time.Millisecond)
	}
	if got := l.hedgeAfter(time.Second); got != time.Second {
		t.Errorf("when answers are quick again: %v", got)
	}
}
