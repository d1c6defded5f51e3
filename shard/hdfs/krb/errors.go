package krb

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jcmturner/gokrb5/v8/krberror"

	"github.com/shardfeed/shardfeed/shard"
)

// An Error says why there is no ticket, and what to try. It wraps shard.ErrDenied, or
// shard.ErrTransient when the KDC did not answer.
type Error struct {
	Err  error
	Hint string // or ""
}

func (e *Error) Error() string {
	if e.Hint == "" {
		return "Kerberos: " + e.Err.Error()
	}
	return "Kerberos: " + e.Err.Error() + " (" + e.Hint + ")"
}

func (e *Error) Unwrap() error { return e.Err }

// hints are advice by parts of the KDC's answer.
var hints = []struct{ text, hint string }{
	{"KDC_ERR_C_PRINCIPAL_UNKNOWN", "the KDC knows no such user: give the principal as name@REALM, with the realm of this krb5.conf"},
	{"KDC_ERR_S_PRINCIPAL_UNKNOWN", "the KDC knows no such service: servers must be named as in their principals, mostly by their full host names"},
	{"KDC_ERR_PREAUTH_FAILED", "the keytab's key is not the one that the KDC has: make a new keytab"},
	{"matching key not found", "the keytab has no key of this principal with an encryption type that the KDC takes"},
	{"KDC_ERR_CLIENT_REVOKED", "the account is locked or has expired"},
	{"KDC_ERR_KEY_EXPIRED", "the password has expired"},
	{"KRB_AP_ERR_SKEW", "the clocks of this machine and the KDC differ by over five minutes"},
	{"Clock skew", "the clocks of this machine and the KDC differ by over five minutes"},
	{"KRB_AP_ERR_TKT_EXPIRED", "run kinit again"},
	{"no valid existing session", "run kinit again"},
	{"KDC_ERR_WRONG_REALM", "the KDC serves another realm: give the principal as name@REALM"},
	{"no KDCs defined", "krb5.conf has no KDC of this realm"},
	{"KDC_ERR_ETYPE_NOSUPP", "the KDC takes none of the encryption types of krb5.conf and keytab"},
}

// Classify turns an error of gokrb5, from a login or from asking for a ticket, into an *Error.
func Classify(err error) error {
	if e := (*Error)(nil); err == nil || errors.As(err, &e) {
		return err
	}
	kind := shard.ErrDenied
	text := plain(err)
	if unreachable(err, text) {
		kind = shard.ErrTransient
	}
	hint := ""
	if kind == shard.ErrTransient {
		hint = "can this machine reach the KDCs that krb5.conf names?"
	}
	for _, h := range hints {
		if strings.Contains(text, h.text) {
			hint = h.hint
			break
		}
	}
	return &Error{Err: fmt.Errorf("%w: %s", kind, text), Hint: hint}
}

// unreachable reports whether no KDC answered, though there is one.
func unreachable(err error, text string) bool {
	network := krberror.Krberror{}
	lost := errors.As(err, &network) && network.RootCause == krberror.NetworkingError ||
		strings.Contains(text, "communication error with KDC") || strings.Contains(text, "failed to communicate with KDC")
	return lost && !strings.Contains(text, "no KDCs defined")
}

// plain is the text of gokrb5's errors without its brackets and arrows.
func plain(err error) string {
	text := err.Error()
	if _, after, ok := strings.Cut(text, "] "); ok && strings.HasPrefix(text, "[Root cause: ") {
		text = after
	}
	return strings.ReplaceAll(text, " < ", ": ")
}
