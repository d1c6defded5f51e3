package cloud

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/driver/connect"
)

// Clients make the requests for tokens. They keep no connections: there is a request an hour.
type Clients struct {
	Proxied *http.Client // to servers of the cloud
	Direct  *http.Client // to the metadata server of the machine
}

// NewClients returns the clients for some options.
func NewClients(o connect.Options) (Clients, error) {
	proxied, err := o.Transport()
	if err != nil {
		return Clients{}, err
	}
	proxied.DisableKeepAlives = true
	direct := proxied.Clone()
	direct.Proxy = nil
	return Clients{&http.Client{Transport: proxied}, &http.Client{Transport: direct}}, nil
}

// ErrNoAnswer is the error of a server of tokens that cannot be reached.
var ErrNoAnswer = errors.New("no answer")

// ErrNoToken is the error of credentials that lead to no token.
var ErrNoToken = fmt.Errorf("%w: no token", shard.ErrDenied)

// maxToken bounds the answer to a request for a token.
const maxToken = 1 << 20

// FetchToken makes a request for a token of OAuth. An answer with status 404 is shard.ErrNotExist.
func FetchToken(client *http.Client, r *http.Request) (Token, error) {
	answer, err := client.Do(r)
	if err != nil {
		return Token{}, fmt.Errorf("%w: %w", ErrNoAnswer, connect.Lost(r.Context(), r.URL.Host, err))
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxToken))
	if err != nil {
		return Token{}, connect.Lost(r.Context(), r.URL.Host, err)
	}
	var token struct {
		Value       string          `json:"access_token"`
		Seconds     json.RawMessage `json:"expires_in"` // a number, or its text
		Error       string
		Description string `json:"error_description"`
	}
	unread := json.Unmarshal(body, &token)
	if kind := KindOfStatus(answer.StatusCode); kind != nil {
		return Token{}, fmt.Errorf("%w: %s: %d %s%s", kind, r.URL.Host, answer.StatusCode, http.StatusText(answer.StatusCode), Reason(token.Error, token.Description))
	}
	var seconds float64
	if unread != nil || token.Value == "" || json.Unmarshal(bytes.Trim(token.Seconds, `"`), &seconds) != nil || !(seconds >= 0 && seconds < 1e9) {
		return Token{}, fmt.Errorf("%w: the answer of %s has no token", ErrNoToken, r.URL.Host)
	}
	return Token{Value: token.Value, Expires: time.Now().Add(time.Duration(seconds * float64(time.Second)))}, nil
}

// KindOfStatus returns the kind of failure that a status is for a request for a token, or nil.
func KindOfStatus(status int) error {
	switch {
	case status == http.StatusOK:
		return nil
	case status == http.StatusNotFound:
		return shard.ErrNotExist
	case status >= 500 || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout || status == http.StatusGone:
		return shard.ErrTransient
	}
	return ErrNoToken
}

// Reason returns the text of an error of OAuth for messages.
func Reason(code, description string) string {
	text := ""
	description, _, _ = strings.Cut(description, "\n")
	for _, more := range []string{code, strings.TrimSpace(description)} {
		if more != "" {
			text += ": " + more
		}
	}
	return text
}
