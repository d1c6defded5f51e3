package krb

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// write makes files in a directory of the test's own and returns it.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "DIR", dir)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const redHat = `
includedir DIR/conf.d/
[logging]
 default = FILE:/var/log/krb5libs.log
[libdefaults]
    dns_lookup_realm = false
    dns_canonicalize_hostname = fallback
    ticket_lifetime = 24h
    renew_lifetime = 7d
    rdns = false
    qualify_shortname = ""
    default_realm = EXAMPLE.COM
    default_ccache_name = KEYRING:persistent:%{uid}
[realms]
 EXAMPLE.COM = {
   kdc = kdc1.example.com
   kdc = tcp/kdc2.example.com:1088
   auth_to_local_names = {
     kdc = nothing
   }
   v4_name_convert = {
     host = { rcmd = host }
   }
   admin_server = kdc1.example.com
 }
# a comment
[domain_realm]
 .example.com = EXAMPLE.COM
 example.com = EXAMPLE.COM
`

func TestProfile(t *testing.T) {
	dir := write(t, map[string]string{
		"krb5.conf":         redHat,
		"conf.d/crypto":     "[libdefaults]\npermitted_enctypes = aes256-cts-hmac-sha1-96 camellia256-cts-cmac\n",
		"conf.d/other.conf": "[realms]\nOTHER = {\n kdc = other:99\n}\n",
		"conf.d/.hidden":    "[libdefaults]\ndefault_realm = HIDDEN\n",
		"conf.d/x~":         "[libdefaults]\ndefault_realm = TILDE\n",
	})
	p, err := readProfile(dir + "/absent:" + dir + "/krb5.conf")
	if err != nil {
		t.Fatal(err)
	}
	c, err := p.config()
	if err != nil {
		t.Fatal(err)
	}
	if c.LibDefaults.DefaultRealm != "EXAMPLE.COM" || !c.LibDefaults.DNSLookupKDC || c.LibDefaults.UDPPreferenceLimit != 1 {
		t.Errorf("%+v", c.LibDefaults)
	}
	if len(c.LibDefaults.PermittedEnctypes) != 2 {
		t.Errorf("encryption types %v", c.LibDefaults.PermittedEnctypes)
	}
	for realm, want := range map[string]string{"EXAMPLE.COM": "kdc1.example.com:88 kdc2.example.com:1088", "OTHER": "other:99"} {
		t.Run(realm, func(t *testing.T) {
			n, kdcs, err := c.GetKDCs(realm, true)
			if err != nil || n != len(strings.Fields(want)) {
				t.Errorf("%v, %v", kdcs, err)
			}
			for _, kdc := range kdcs {
				if !strings.Contains(want, kdc) {
					t.Errorf("%s is none of %s", kdc, want)
				}
			}
		})
	}
	if realm := c.ResolveRealm("nn.example.com"); realm != "EXAMPLE.COM" {
		t.Errorf("realm %s", realm)
	}
	if p.defaults["default_ccache_name"] != "KEYRING:persistent:%{uid}" {
		t.Errorf("%v", p.defaults)
	}
}

func TestProfileErrors(t *testing.T) {
	dir := write(t, map[string]string{
		"circle": "include DIR/circle\n",
		"gone":   "include DIR/nowhere\n",
		"big":    strings.Repeat("# no\n", maxProfile/4),
		"bad":    "[libdefaults]\nticket_lifetime = long\n",
	})
	for name, want := range map[string]string{"circle": "circle", "gone": "nowhere", "big": "the most for a krb5.conf", "absent": "cannot be read"} {
		t.Run(name, func(t *testing.T) {
			if _, err := readProfile(filepath.Join(dir, name)); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v", err)
			}
		})
	}
	p, err := readProfile(filepath.Join(dir, "bad"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.config(); err == nil || !strings.Contains(err.Error(), "ticket_lifetime") {
		t.Errorf("error %v", err)
	}
}

func FuzzProfile(f *testing.F) {
	f.Add([]byte(redHat))
	f.Add([]byte("[realms]\nA = {\n kdc = {\n }\n}\n}\n[libdefaults"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p := &profile{defaults: make(map[string]string), realms: make(map[string][]string)}
		if err := p.parse(text, func(string, string) error { return nil }); err != nil {
			t.Fatal(err)
		}
		_, _ = p.config()
	})
}
