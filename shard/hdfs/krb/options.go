package krb

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"github.com/shardfeed/shardfeed/shard"
)

// Options configure the sources of credentials. The zero value uses the environment.
type Options struct {
	Keytab    string // a file, or ""
	Principal string // name[/instance][@REALM]; "": the keytab's first. A ticket cache must be of this principal when it is given
	CCache    string // a file, or ""
	Config    string // krb5.conf, or ""
}

func (o Options) resolve(env func(string) string) (Options, error) {
	o.Config = cmp.Or(o.Config, env("KRB5_CONFIG"), "/etc/krb5.conf")
	if o.Keytab == "" && o.CCache == "" {
		o.Keytab, o.CCache = env("KRB5_CLIENT_KTNAME"), env("KRB5CCNAME") // the keytab wins
	}
	var err error
	if o.Keytab != "" {
		o.CCache = ""
		o.Keytab, err = keytabPath(o.Keytab)
	} else if o.CCache != "" {
		o.CCache, err = ccachePath(o.CCache)
	}
	return o, err
}

func keytabPath(name string) (string, error) {
	kind, path := residual(name)
	if kind != "FILE" && kind != "WRFILE" {
		return "", &Error{Err: fmt.Errorf("%w: the keytab %s is not in a file", shard.ErrDenied, name), Hint: "name a file"}
	}
	return path, nil
}

// ccachePath is the file of a ticket cache's name, as in KRB5CCNAME and krb5.conf.
func ccachePath(name string) (string, error) {
	kind, path := residual(name)
	if kind != "FILE" {
		return "", &Error{
			Err:  fmt.Errorf("%w: the ticket cache %s is not in a file, and no other kind can be read", shard.ErrDenied, name),
			Hint: fmt.Sprintf("run kinit -c FILE:/tmp/krb5cc_%d and set KRB5CCNAME to that, or give a keytab", os.Getuid()),
		}
	}
	return path, nil
}

// residual cuts KIND:path; a plain path is of kind FILE.
func residual(name string) (kind, path string) {
	kind, path, ok := strings.Cut(name, ":")
	if !ok || strings.ContainsAny(kind, "/.") {
		return "FILE", name
	}
	return strings.ToUpper(kind), path
}

// defaultCCache returns the default ticket cache of a user; text is default_ccache_name of
// krb5.conf.
func defaultCCache(text string) (string, error) {
	uid := fmt.Sprint(os.Getuid())
	if text == "" {
		return "/tmp/krb5cc_" + uid, nil
	}
	r := strings.NewReplacer("%{uid}", uid, "%{euid}", uid, "%{USERID}", uid, "%{TEMP}", "/tmp", "%{null}", "")
	return ccachePath(r.Replace(text))
}
