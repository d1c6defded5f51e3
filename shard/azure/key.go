package azure

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/shardfeed/shardfeed/shard"
)

// A sharedKey signs requests by the key of an account.
type sharedKey struct {
	account string
	key     []byte
}

func newSharedKey(account, text string) (sharedKey, error) {
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil || account == "" {
		return sharedKey{}, fmt.Errorf("%w: the key of an account is base64, and comes with the account's name", shard.ErrBadURI)
	}
	return sharedKey{account, key}, nil
}

// Sign signs a request as "Authorize with Shared Key" of Azure's REST reference has it.
func (k sharedKey) Sign(r *http.Request) error {
	r.Header.Set("X-Ms-Date", time.Now().UTC().Format(http.TimeFormat))
	mac := hmac.New(sha256.New, k.key)
	_, _ = io.WriteString(mac, k.text(r))
	r.Header.Set("Authorization", "SharedKey "+k.account+":"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	return nil
}

// text returns the text to sign of a request without a body.
func (k sharedKey) text(r *http.Request) string {
	lines := []string{r.Method}
	for _, name := range []string{
		"Content-Encoding", "Content-Language", "Content-Length", "Content-Md5", "Content-Type", "Date",
		"If-Modified-Since", "If-Match", "If-None-Match", "If-Unmodified-Since", "Range",
	} {
		lines = append(lines, r.Header.Get(name))
	}
	var own []string
	for name := range r.Header {
		if lower := strings.ToLower(name); strings.HasPrefix(lower, "x-ms-") {
			own = append(own, lower+":"+strings.TrimSpace(r.Header.Get(name)))
		}
	}
	slices.Sort(own)
	lines = append(lines, own...)
	lines = append(lines, "/"+k.account+r.URL.EscapedPath())
	query := r.URL.Query()
	for _, name := range slices.Sorted(maps.Keys(query)) {
		values := slices.Sorted(slices.Values(query[name]))
		lines = append(lines, strings.ToLower(name)+":"+strings.Join(values, ","))
	}
	return strings.Join(lines, "\n")
}

// A signature is a shared access signature: a query.
type signature string

// newSignature takes a signature with or without its question mark.
func newSignature(text string) (signature, error) {
	text = strings.TrimPrefix(text, "?")
	if query, err := url.ParseQuery(text); err != nil || !query.Has("sig") {
		return "", fmt.Errorf("%w: a shared access signature is a query with sig=", shard.ErrBadURI)
	}
	return signature(text), nil
}

// Sign adds the query, to a URL of the request's own.
func (s signature) Sign(r *http.Request) error {
	u := *r.URL
	if u.RawQuery != "" {
		u.RawQuery += "&"
	}
	u.RawQuery += string(s)
	r.URL = &u
	return nil
}
