package shard

import (
	"path"
	"slices"
	"strings"

	"github.com/shardfeed/shardfeed/internal/option"
)

// SplitScheme cuts an address into its scheme in lower case and what follows "scheme://".
// "file:/a", as Java prints it, has a scheme too. Everything else is a path, so that names with a
// colon need no escape: it comes back whole, with scheme "".
func SplitScheme(address string) (scheme, rest string) {
	scheme, rest, found := strings.Cut(address, ":")
	if !found || !validScheme(scheme) {
		return "", address
	}
	scheme = strings.ToLower(scheme)
	if after, ok := strings.CutPrefix(rest, "//"); ok {
		return scheme, after
	}
	if scheme == "file" && strings.HasPrefix(rest, "/") {
		return scheme, rest
	}
	return "", address
}

// SlashHint returns a remedy for a path that an address with one slash too few became, as in
// s3:/bucket/path; "" for other addresses.
func SlashHint(address string) string {
	scheme, rest, found := strings.Cut(address, ":/")
	if !found || len(scheme) < 2 || !validScheme(scheme) || scheme == "file" || strings.HasPrefix(rest, "/") {
		return ""
	}
	return option.Literal("give " + brief(Redact(scheme+"://"+rest), longestAddress) + " with two slashes; Python's Path drops one, so give a str")
}

// validScheme is RFC 3986, section 3.1.
func validScheme(s string) bool {
	for i := range len(s) {
		c := s[i] | 0x20
		letter := 'a' <= c && c <= 'z'
		other := '0' <= s[i] && s[i] <= '9' || s[i] == '+' || s[i] == '-' || s[i] == '.'
		if !letter && (i == 0 || !other) {
			return false
		}
	}
	return s != ""
}

// normal is the spelling of a URI that does not depend on how a user wrote it, found without asking
// the disk or the working directory: lists are sorted by it, so that they are in the same order on
// every machine.
func normal(uri string) string {
	scheme, rest := SplitScheme(uri)
	switch {
	case scheme == "file":
		if strings.HasPrefix(rest, "localhost/") {
			rest = rest[len("localhost"):]
		}
		return path.Clean(rest)
	case scheme != "":
		if strings.HasPrefix(uri, scheme) && uri[len(scheme):len(uri)-len(rest)] == "://" {
			return uri // as most are: one of a million is not copied
		}
		return scheme + "://" + rest // keys of a bucket are not cleaned: a//b and a/b are two objects
	case uri == "":
		return ""
	}
	return path.Clean(uri)
}

// secretParams are the query parameters whose values are secrets, in lower case.
var secretParams = []string{
	"x-amz-signature", "x-amz-credential", "x-amz-security-token", "awsaccesskeyid", "signature", "sig", "token", "access_token",
	"session_token", "access_key", "secret_key", "secret", "password", "delegation", "x-goog-signature", "x-goog-credential",
}

// Redact returns the URI as messages may show it: without passwords and signatures. A bare path is
// shown whole.
func Redact(uri string) string {
	scheme, rest := SplitScheme(uri)
	if scheme == "" || scheme == "file" {
		return uri
	}
	prefix := uri[:len(uri)-len(rest)]
	rest, query, hasQuery := strings.Cut(rest, "?")
	rest = redactUser(rest)
	if hasQuery {
		rest += "?" + redactQuery(query)
	}
	return prefix + rest
}

// redactUser hides the password of user:password@host. A secret key that was pasted unescaped can
// hold slashes, which end the authority too early: when no port follows the colon, everything up to
// the last @ counts as the secret.
func redactUser(rest string) string {
	authority, _, _ := strings.Cut(rest, "/")
	user, secret, hasColon := strings.Cut(authority, ":")
	end := strings.LastIndexByte(authority, '@')
	if hasColon && end < 0 && !isDigits(secret) {
		end = strings.LastIndexByte(rest, '@')
	}
	if end < 0 || !hasColon || len(user) > end {
		return rest
	}
	return user + ":***" + rest[end:]
}

func redactQuery(query string) string {
	params := strings.Split(query, "&")
	for i, p := range params {
		name, _, hasValue := strings.Cut(p, "=")
		if hasValue && slices.Contains(secretParams, strings.ToLower(name)) {
			params[i] = name + "=***"
		}
	}
	return strings.Join(params, "&")
}

func isDigits(s string) bool {
	return strings.Trim(s, "0123456789") == ""
}
