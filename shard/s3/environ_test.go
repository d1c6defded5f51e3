package s3

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"testing"
)

// A store takes credentials, region and profiles from the environment that it is given, and nothing
// of the SDK's from that of the process, which is left as it was.
func TestEnviron(t *testing.T) {
	home := t.TempDir()
	for name, content := range map[string]string{
		"config":      "[profile work]\nregion = eu-north-1\nendpoint_url = http://profile:1\n",
		"credentials": "[work]\naws_access_key_id = WORK\naws_secret_access_key = x\n",
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.MkdirAll(filepath.Join(home, ".aws"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(home, ".aws", name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		})
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "PROCESS")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "y")
	t.Setenv("AWS_REGION", "us-west-2")
	t.Setenv("AWS_ENDPOINT_URL_S3", "http://process:1")
	before := os.Environ()
	off := map[string]string{"AWS_EC2_METADATA_DISABLED": "true", "HOME": home}
	with := func(more map[string]string) map[string]string {
		all := maps.Clone(off)
		maps.Copy(all, more)
		return all
	}
	for _, c := range []struct {
		name                  string
		environ               map[string]string
		key, region, endpoint string // key "": there are no credentials
	}{
		{"the process's", nil, "PROCESS", "us-west-2", "http://process:1"},
		{"variables", with(map[string]string{"AWS_ACCESS_KEY_ID": "OTHER", "AWS_SECRET_ACCESS_KEY": "z", "AWS_REGION": "eu-west-1"}), "OTHER", "eu-west-1", ""},
		{"profile", with(map[string]string{"AWS_PROFILE": "work"}), "WORK", "eu-north-1", "http://profile:1"},
		{"nothing", off, "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := newSession(t.Context(), Options{Environ: c.environ})
			if c.key == "" {
				if !errors.Is(err, errNoCredentials) {
					t.Errorf("error %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			keys, err := s.cfg.Credentials.Retrieve(t.Context())
			if err != nil || keys.AccessKeyID != c.key || s.cfg.Region != c.region || s.endpoint != c.endpoint {
				t.Errorf("key %s, region %s, endpoint %s, %v", keys.AccessKeyID, s.cfg.Region, s.endpoint, err)
			}
		})
	}
	now := map[string]bool{}
	for _, v := range os.Environ() {
		now[v] = true
	}
	for _, v := range before {
		if !now[v] {
			t.Errorf("%s is no longer set", v)
		}
	}
	if len(now) != len(before) {
		t.Errorf("%d variables, %d before", len(now), len(before))
	}
}
