package krb

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/credentials"
	"github.com/jcmturner/gokrb5/v8/keytab"

	"github.com/shardfeed/shardfeed/shard"
)

// maxCredentials is the size of the largest keytab or ticket cache.
const maxCredentials = 16 << 20 // bytes

type login struct {
	client    *client.Client
	principal string
	path      string // the file that it comes from
	stamp     stamp
	until     time.Time // end of a ticket cache's ticket; zero for a keytab
}

// A stamp identifies a version of a file, to detect changes.
type stamp struct {
	size  int64
	time  time.Time
	inode uint64
}

// stampOf returns a file's stamp, or the zero stamp if there is no file.
func stampOf(path string) stamp {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}
	}
	return stamp{size: info.Size(), time: info.ModTime(), inode: inode(info)}
}

// start makes a client: it reads krb5.conf and the credentials, and asks the KDC where those are a
// keytab.
func (o Options) start() (*login, error) {
	p, err := readProfile(o.Config)
	if err != nil {
		return nil, &Error{Err: fmt.Errorf("%w: %w", shard.ErrDenied, err), Hint: "set KRB5_CONFIG, or give the path of krb5.conf"}
	}
	c, err := p.config()
	if err != nil {
		return nil, &Error{Err: err}
	}
	if o.Keytab != "" {
		return o.fromKeytab(c)
	}
	if o.CCache == "" {
		if o.CCache, err = defaultCCache(p.defaults["default_ccache_name"]); err != nil {
			return nil, err
		}
	}
	return o.fromCCache(c)
}

func (o Options) fromKeytab(c *config.Config) (*login, error) {
	l := &login{path: o.Keytab, stamp: stampOf(o.Keytab)}
	kt := keytab.New()
	if err := read(o.Keytab, func(b []byte) error { return parseKeytab(b, kt) }); err != nil {
		return nil, &Error{Err: fmt.Errorf("%w: keytab %s: %w", shard.ErrDenied, o.Keytab, err), Hint: "check it with klist -kt"}
	}
	held := principals(kt)
	if len(held) == 0 {
		return nil, &Error{Err: fmt.Errorf("%w: keytab %s is empty", shard.ErrDenied, o.Keytab)}
	}
	l.principal = held[0]
	if o.Principal != "" {
		l.principal = withRealm(o.Principal, c.LibDefaults.DefaultRealm)
	}
	if !slices.Contains(held, l.principal) {
		return nil, &Error{
			Err:  fmt.Errorf("%w: keytab %s has no key of %s", shard.ErrDenied, o.Keytab, l.principal),
			Hint: "it has keys of " + strings.Join(held, ", "),
		}
	}
	name, realm, _ := cutRealm(l.principal)
	l.client = client.NewWithKeytab(name, realm, kt, c, client.DisablePAFXFAST(true))
	if err := l.client.Login(); err != nil {
		l.client.Destroy()
		return nil, named(Classify(err), "login of "+l.principal)
	}
	return l, nil
}

// fromCCache takes the ticket that somebody else got.
func (o Options) fromCCache(c *config.Config) (*login, error) {
	l := &login{path: o.CCache, stamp: stampOf(o.CCache)}
	cache := new(credentials.CCache)
	err := read(o.CCache, func(b []byte) error { return parseCCache(b, cache) })
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &Error{Err: fmt.Errorf("%w: there is no ticket cache %s", shard.ErrDenied, o.CCache), Hint: "run kinit, or give a keytab"}
	case err != nil:
		return nil, &Error{Err: fmt.Errorf("%w: ticket cache %s: %w", shard.ErrDenied, o.CCache, err), Hint: "check it with klist -c"}
	}
	l.principal = cache.DefaultPrincipal.PrincipalName.PrincipalNameString() + "@" + cache.DefaultPrincipal.Realm
	if want := withRealm(o.Principal, c.LibDefaults.DefaultRealm); o.Principal != "" && want != l.principal {
		return nil, &Error{Err: fmt.Errorf("%w: ticket cache %s is of %s, not of %s", shard.ErrDenied, o.CCache, l.principal, want)}
	}
	for _, cred := range cache.Credentials {
		if server := cred.Server.PrincipalName.NameString; len(server) == 2 && server[0] == "krbtgt" && server[1] == cache.DefaultPrincipal.Realm {
			l.until = cred.EndTime
		}
	}
	err = guard(func() error {
		var err error
		l.client, err = client.NewFromCCache(cache, c, client.DisablePAFXFAST(true))
		return err
	})
	if err != nil {
		return nil, named(Classify(err), "ticket cache "+o.CCache)
	}
	if !time.Now().Before(l.until) {
		return nil, expired(l.principal, o.CCache, l.until)
	}
	return l, nil
}

func expired(principal, path string, until time.Time) error {
	return &Error{
		Err:  fmt.Errorf("%w: the ticket of %s in %s expired at %s", shard.ErrDenied, principal, path, until.UTC().Format(time.RFC3339)),
		Hint: "run kinit again, or give a keytab, which renews by itself",
	}
}

// named puts what failed in front of an Error's text.
func named(err error, what string) error {
	var e *Error
	if errors.As(err, &e) {
		return &Error{Err: fmt.Errorf("%s: %w", what, e.Err), Hint: e.Hint}
	}
	return err
}

// read parses a file of credentials. The parsers of gokrb5 panic on files that are cut short, as
// one is that is being written.
func read(path string, parse func([]byte) error) error {
	info, err := os.Stat(path)
	if err != nil {
		return errors.Unwrap(err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxCredentials {
		return errors.New("it is not a file of credentials")
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return errors.Unwrap(err)
	}
	return guard(func() error { return parse(content) })
}

func guard(parse func() error) (err error) {
	defer func() {
		if recover() != nil {
			err = errDamaged
		}
	}()
	return parse()
}

func parseKeytab(b []byte, into *keytab.Keytab) error {
	if into.Unmarshal(b) != nil {
		return errDamaged
	}
	return nil
}

func principals(kt *keytab.Keytab) []string {
	var all []string
	for _, e := range kt.Entries {
		if p := e.Principal.String(); !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	return all
}

func withRealm(principal, realm string) string {
	if _, _, ok := cutRealm(principal); ok || principal == "" {
		return principal
	}
	return principal + "@" + realm
}

func cutRealm(principal string) (name, realm string, ok bool) {
	if i := strings.LastIndexByte(principal, '@'); i >= 0 {
		return principal[:i], principal[i+1:], true
	}
	return principal, "", false
}
