package krb

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/jcmturner/gokrb5/v8/credentials"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/krberror"

	"github.com/shardfeed/shardfeed/shard"
)

func TestResolve(t *testing.T) {
	for _, c := range []struct {
		name    string
		options Options
		env     map[string]string
		want    Options
		err     string
	}{
		{name: "nothing", want: Options{Config: "/etc/krb5.conf"}},
		{name: "config", env: map[string]string{"KRB5_CONFIG": "/a:/b"}, want: Options{Config: "/a:/b"}},
		{name: "option wins", options: Options{Config: "/c"}, env: map[string]string{"KRB5_CONFIG": "/a"}, want: Options{Config: "/c"}},
		{name: "cache", env: map[string]string{"KRB5CCNAME": "FILE:/x"}, want: Options{CCache: "/x", Config: "/etc/krb5.conf"}},
		{name: "plain cache", env: map[string]string{"KRB5CCNAME": "/x:y"}, want: Options{CCache: "/x:y", Config: "/etc/krb5.conf"}},
		{
			name: "keytab wins", env: map[string]string{"KRB5CCNAME": "/x", "KRB5_CLIENT_KTNAME": "FILE:/k"},
			want: Options{Keytab: "/k", Config: "/etc/krb5.conf"},
		},
		{
			name: "the cache that was asked for wins", options: Options{CCache: "/x"}, env: map[string]string{"KRB5_CLIENT_KTNAME": "/k"},
			want: Options{CCache: "/x", Config: "/etc/krb5.conf"},
		},
		{name: "keyring", env: map[string]string{"KRB5CCNAME": "KEYRING:persistent:0"}, err: "KEYRING:persistent:0 is not in a file"},
		{name: "kcm", env: map[string]string{"KRB5CCNAME": "KCM:"}, err: "run kinit -c FILE:/tmp/krb5cc_"},
		{name: "dir", env: map[string]string{"KRB5CCNAME": "DIR:/x"}, err: "no other kind can be read"},
		{name: "memory keytab", options: Options{Keytab: "MEMORY:x"}, err: "not in a file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := c.options.resolve(func(name string) string { return c.env[name] })
			if c.err != "" {
				if !errors.Is(err, shard.ErrDenied) || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("error %v, want %s", err, c.err)
				}
				return
			}
			if err != nil || got != c.want {
				t.Errorf("%+v, %v, want %+v", got, err, c.want)
			}
		})
	}
}

func TestDefaultCCache(t *testing.T) {
	uid := os.Getuid()
	for text, want := range map[string]string{
		"":                          fmt.Sprintf("/tmp/krb5cc_%d", uid),
		"FILE:/run/cc_%{uid}":       fmt.Sprintf("/run/cc_%d", uid),
		"/home/x/cc":                "/home/x/cc",
		"KEYRING:persistent:%{uid}": "error",
	} {
		t.Run(text, func(t *testing.T) {
			got, err := defaultCCache(text)
			if (err != nil) != (want == "error") || err == nil && got != want {
				t.Errorf("%s, %v", got, err)
			}
		})
	}
}

func TestClassify(t *testing.T) {
	for _, c := range []struct {
		err  error
		kind error
		text string
	}{
		{krberror.New(krberror.NetworkingError, "AS Exchange Error: failed sending AS_REQ to KDC"), shard.ErrTransient, "can this machine reach"},
		{errors.New("communication error with KDC via TCP: x"), shard.ErrTransient, "can this machine reach"},
		{krberror.New(krberror.KDCError, "KRB Error: (6) KDC_ERR_C_PRINCIPAL_UNKNOWN x"), shard.ErrDenied, "no such user"},
		{errors.New("KRB Error: (37) KRB_AP_ERR_SKEW"), shard.ErrDenied, "clocks"},
		{errors.New("something"), shard.ErrDenied, "Kerberos: access denied: something"},
	} {
		err := Classify(c.err)
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.text) || strings.Contains(err.Error(), "Root cause") {
			t.Errorf("%v became %v", c.err, err)
		}
		if again := Classify(err); again != err {
			t.Errorf("classified twice: %v", again)
		}
	}
	if Classify(nil) != nil {
		t.Error("nothing is no error")
	}
}

// FuzzCredentials: damaged files give errors, whatever gokrb5 makes of them, and none that holds
// the file's bytes.
func FuzzCredentials(f *testing.F) {
	f.Add([]byte{5, 4, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 'R', 0, 0, 0, 1, 'u'})
	f.Add([]byte{5, 2, 0, 0, 0, 8, 0, 1, 0, 1, 'A', 0, 1, 'b'})
	f.Add(append([]byte{5, 2, 0, 0, 0, 99}, "the secret key of somebody"...))
	f.Fuzz(func(t *testing.T, b []byte) {
		errs := []error{
			guard(func() error { return parseCCache(b, new(credentials.CCache)) }),
			guard(func() error { return parseKeytab(b, keytab.New()) }),
		}
		for _, err := range errs {
			if err != nil && len(b) > 8 && strings.Contains(err.Error(), string(b[6:])) {
				t.Errorf("%v", err)
			}
		}
	})
}
