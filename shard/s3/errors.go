package s3

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/smithy-go"

	"github.com/shardfeed/shardfeed/internal/cause"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/driver"
)

// An action is the purpose of a request, as far as a message needs it.
type action struct {
	op    string // of the shard.Error
	right string // what a policy must allow
}

var (
	listing = action{"list", "s3:ListBucket for a directory, s3:GetObject for one object"}
	opening = action{"open", "s3:GetObject"}
	reading = action{"read", "s3:GetObject"}
)

// wrap makes the error that a user reads. C is the client that was asked, or nil.
func (s *Store) wrap(ctx context.Context, a action, uri string, c *client, err error) error {
	if e := (*shard.Error)(nil); err == nil || errors.As(err, &e) {
		return err
	}
	if ctx.Err() != nil {
		return &shard.Error{Op: a.op, URI: uri, Err: cause.Of(ctx)}
	}
	return &shard.Error{Op: a.op, URI: uri, Err: s.describe(ctx, c, classify(err)), Hint: s.hint(a, err)}
}

// classify puts what went wrong into the words of package shard, unless an error has one already.
func classify(err error) error {
	for _, kind := range []error{
		shard.ErrNotExist, shard.ErrChanged, shard.ErrCorrupt, shard.ErrTransient, shard.ErrDenied, shard.ErrBadURI,
	} {
		if errors.Is(err, kind) {
			return plain(err)
		}
	}
	switch {
	case isArchived(err):
		return kindOf(shard.ErrDenied, "the object is archived and must be restored first", err)
	case isNoIdentity(err):
		return kindOf(shard.ErrDenied, "", err)
	case isMissing(err):
		return kindOf(shard.ErrNotExist, "", err)
	case isMoved(err):
		return kindOf(shard.ErrBadURI, "the bucket is in another region", err)
	case isDenied(err):
		return kindOf(shard.ErrDenied, "", err)
	case isChanged(err):
		return kindOf(shard.ErrChanged, "", err)
	case answerCode(err) == "InvalidBucketName":
		return kindOf(shard.ErrBadURI, "", err)
	case isPassing(err):
		return kindOf(shard.ErrTransient, "", err)
	}
	return plain(err)
}

// kindOf joins a kind and what is known, in words that do not repeat each other.
func kindOf(kind error, words string, err error) error {
	return &fault{kind: kind, words: words, err: err}
}

func plain(err error) error { return &fault{err: err} }

// A fault is an error of a request with its kind. It prints what the server said and leaves out the
// SDK's account of itself.
type fault struct {
	kind  error  // or nil
	words string // ours, or ""
	err   error
}

func (f *fault) Error() string {
	var parts []string
	if f.kind != nil {
		parts = append(parts, f.kind.Error())
	}
	if f.words != "" {
		parts = append(parts, f.words)
	}
	return strings.Join(append(parts, said(f.err)), ": ")
}

func (f *fault) Unwrap() []error {
	if f.kind == nil {
		return []error{f.err}
	}
	return []error{f.kind, f.err}
}

// said returns the useful part of an error of a server or the network.
func said(err error) string {
	code := answerCode(err)
	if code == "" {
		return innermost(err)
	}
	var e smithy.APIError
	errors.As(err, &e)
	text := code
	if message := e.ErrorMessage(); message != "" && message != code {
		text += ": " + message
	}
	if before, _, ok := strings.Cut(err.Error(), "operation error"); ok && before != "" { // our own words around it
		return before + text
	}
	return text
}

// wrapping matches the SDK's text around an error within an answer.
var wrapping = regexp.MustCompile(`https response error StatusCode: \d+, RequestID: [^,]*, HostID: [^,]*, `)

// innermost drops what the SDK puts around a network's error, such as "operation error S3:
// GetObject, ".
func innermost(err error) string {
	text := wrapping.ReplaceAllString(err.Error(), "")
	i := strings.Index(text, "operation error ")
	if i < 0 {
		return text
	}
	before, rest := text[:i], text[i:]
	if _, after, ok := strings.Cut(rest, "request send failed, "); ok {
		return before + after
	}
	if _, after, ok := strings.Cut(rest, ", "); ok {
		return before + after
	}
	return text
}

// describe adds what an administrator wants to know first: who was asked, how, the request's name.
func (s *Store) describe(ctx context.Context, c *client, err error) error {
	if c == nil {
		return err
	}
	var facts []string
	if status := answerStatus(err); status >= 300 {
		facts = append(facts, fmt.Sprintf("HTTP %d", status))
	}
	if id := requestID(err); id != "" {
		facts = append(facts, "request "+id)
	}
	facts = append(facts, "endpoint "+c.name, "region "+c.region, "credentials: "+c.session.source(ctx))
	return fmt.Errorf("%w [%s]", err, strings.Join(facts, ", "))
}

func (s *Store) hint(a action, err error) string {
	switch code := answerCode(err); {
	case isNoIdentity(err) && isSignIn(err):
		return "log in again: aws sso login, with {Profile} where one is used"
	case isNoIdentity(err):
		return "for public data give {Anonymous}; else name a profile ({Profile}, AWS_PROFILE) or set AWS_ACCESS_KEY_ID and " +
			"AWS_SECRET_ACCESS_KEY"
	case isNoProfile(err):
		return "profiles stand in ~/.aws/config and ~/.aws/credentials, or where AWS_CONFIG_FILE and AWS_SHARED_CREDENTIALS_FILE say: aws configure " +
			"list-profiles prints their names"
	case isArchived(err):
		return "restore it with aws s3api restore-object, and wait until that is done"
	case code == "NoSuchBucket":
		return "look at the bucket's name, and at the endpoint when it is not on AWS"
	case isMoved(err):
		return "name the bucket's region with {Region}"
	case isExpired(err):
		return "the credentials expired: log in again (aws sso login) or renew AWS_SESSION_TOKEN; a profile is read again within a long run"
	case isBadToken(err):
		return "the session token does not belong to the key id: take key, secret and token (AWS_SESSION_TOKEN) of one login, or no " +
			"token where the key needs none"
	case isUnknownKey(err):
		return "the server does not know this access key: look at the key id, the profile and the endpoint"
	case code == "SignatureDoesNotMatch":
		return "the secret key does not belong to the key id"
	case code == "RequestTimeTooSkewed":
		return "set this machine's clock"
	case isMute(err):
		return "the server gives no reason: look at the credentials; an object that a customer's own key encrypts (SSE-C) cannot be read"
	case isDenied(err) && s.o.Anonymous:
		return "anonymous requests may not do this: leave {Anonymous} away"
	case code == "Forbidden": // the answer to a HEAD: it has no body to say more
		return "the key or its secret is wrong, or the credentials lack " + a.right + "; where the requester pays, give {RequesterPays}"
	case isDenied(err):
		return "the credentials need " + a.right + "; where the requester pays, give {RequesterPays}"
	case isTrust(err):
		return "give the certificate authority's file with {CABundle} or AWS_CA_BUNDLE"
	case isPlain(err):
		return "the server speaks http here: let the endpoint begin with http://, or name its https port"
	case errors.Is(err, errBundle):
		return "{CABundle} and AWS_CA_BUNDLE name a file of certificates in PEM"
	case isUnreachable(err):
		return "look at the endpoint's address ({EndpointURL}, AWS_ENDPOINT_URL) and at the proxy"
	case errors.Is(err, driver.ErrStalled):
		return "the server takes connections and is silent: look at its state, at the endpoint's address ({EndpointURL}, AWS_ENDPOINT_URL) and " +
			"at the proxy"
	case isThrottle(err):
		return "the server asks for fewer requests: lower max_concurrency, or read with fewer jobs at once"
	}
	return ""
}

func isNoProfile(err error) bool {
	var missing config.SharedConfigProfileNotExistError
	return errors.As(err, &missing)
}

// isSignIn reports whether credentials exist but somebody has to log in again.
func isSignIn(err error) bool {
	text := strings.ToLower(err.Error())
	return strings.Contains(text, "sso") && (strings.Contains(text, "expired") || strings.Contains(text, "refresh"))
}
