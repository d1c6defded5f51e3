package s3

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/servertest"
	"github.com/shardfeed/shardfeed/shard"
)

// read lists one object and reads it.
func read(t *testing.T, s *Store, uri string) error {
	t.Helper()
	found, err := s.List(t.Context(), uri)
	if err != nil {
		return err
	}
	o, err := s.Open(t.Context(), found[0])
	if err != nil {
		return err
	}
	return errors.Join(o.ReadAt(t.Context(), make([]byte, found[0].Size), 0), o.Close())
}

// TestServerAccess: the ways to reach a bucket that need no more than environment and options.
func TestServerAccess(t *testing.T) {
	server := servertest.S3(t)
	bucket := server.Bucket(t)
	server.Put(t, bucket, "a", []byte("content"))
	dir := t.TempDir()
	config, secrets := filepath.Join(dir, "config"), filepath.Join(dir, "credentials")
	write(t, config, "[profile far]\nregion = us-east-1\nservices = here\n[services here]\ns3 =\n  endpoint_url = "+server.Endpoint+"\n"+
		"[profile broken]\nregion = us-east-1\nendpoint_url = "+server.Endpoint+"\n")
	write(t, secrets, "[far]\naws_access_key_id = "+server.Key+"\naws_secret_access_key = "+server.Secret+"\n"+
		"[broken]\naws_access_key_id = "+server.Key+"\naws_secret_access_key = hush\n")
	server.Setenv(t)
	without := map[string]string{"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_ENDPOINT_URL": "", "AWS_REGION": ""}
	files := map[string]string{"AWS_CONFIG_FILE": config, "AWS_SHARED_CREDENTIALS_FILE": secrets}
	for _, c := range []struct {
		name string
		env  []map[string]string
		o    Options
		kind error  // nil: it reads
		want string // in the error, words apart by |
	}{
		{"environment", nil, Options{}, nil, ""},
		{"no region", []map[string]string{{"AWS_REGION": ""}}, Options{}, nil, ""},
		{"AWS_ENDPOINT_URL_S3", []map[string]string{{"AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_ENDPOINT_URL_S3": server.Endpoint}}, Options{}, nil, ""},
		{"options before environment", []map[string]string{{"AWS_ACCESS_KEY_ID": "x", "AWS_ENDPOINT_URL": "http://127.0.0.1:1"}}, optionsOf(server), nil, ""},
		{"profile by option", []map[string]string{without, files}, Options{Profile: "far"}, nil, ""},
		{"profile by environment", []map[string]string{without, files, {"AWS_PROFILE": "far"}}, Options{}, nil, ""},
		{"no such profile", []map[string]string{without, files}, Options{Profile: "none"}, os.ErrInvalid, "none|list-profiles"},
		{"no credentials", []map[string]string{without, {"AWS_ENDPOINT_URL": server.Endpoint}}, Options{}, shard.ErrDenied, "no AWS credentials|Anonymous"},
		{
			"wrong secret",
			[]map[string]string{without, files},
			Options{Profile: "broken"},
			shard.ErrDenied,
			"SignatureDoesNotMatch|does not belong|profile broken of " + secrets,
		},
		{"unknown key", []map[string]string{{"AWS_ACCESS_KEY_ID": "nobody"}}, Options{}, shard.ErrDenied, "does not know this access key|from the environment"},
		{"anonymous", nil, Options{Anonymous: true}, shard.ErrDenied, "leave Anonymous away|none (anonymous)"},
		{"nobody listens", []map[string]string{{"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}}, Options{RetryFor: time.Second}, shard.ErrTransient, "connection refused|EndpointURL"},
		{"bad options", nil, Options{Key: "k"}, os.ErrInvalid, "the S3 settings: credentials: key and secret come together"},
		{"no bundle", nil, Options{CABundle: filepath.Join(dir, "none")}, os.ErrNotExist, "CA bundle"},
		{"requester pays", nil, Options{RequesterPays: true}, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, env := range c.env {
				for name, value := range env {
					if t.Setenv(name, value); value == "" {
						os.Unsetenv(name) // until the test ends
					}
				}
			}
			err := read(t, newStore(t, c.o), "s3://"+bucket+"/a")
			if (err == nil) != (c.kind == nil) || c.kind != nil && c.kind != os.ErrInvalid && !errors.Is(err, c.kind) {
				t.Fatalf("error %v", err)
			}
			if err == nil {
				return
			}
			for _, want := range strings.Split(c.want, "|") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
			if text := err.Error(); strings.Contains(text, "hush") || strings.Contains(text, server.Secret) {
				t.Errorf("error %q holds a secret", text)
			}
		})
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestServerTLS: a private authority is trusted when it is named, by option or by environment.
func TestServerTLS(t *testing.T) {
	server := servertest.S3With(t, servertest.S3Options{TLS: true})
	bucket := server.Bucket(t)
	server.Put(t, bucket, "a", []byte("content"))
	server.Setenv(t)
	if err := read(t, newStore(t, Options{}), "s3://"+bucket+"/a"); err != nil {
		t.Error(err)
	}
	t.Setenv("AWS_CA_BUNDLE", "")
	if err := read(t, newStore(t, Options{CABundle: server.CA}), "s3://"+bucket+"/a"); err != nil {
		t.Error(err)
	}
	start := time.Now()
	err := read(t, newStore(t, Options{}), "s3://"+bucket+"/a")
	if err == nil || !strings.Contains(err.Error(), "CABundle") || time.Since(start) > 45*time.Second {
		t.Errorf("after %v: %v", time.Since(start), err)
	}
}

// TestServerRenewal: when a server says that credentials expired, they are looked up again, and the
// read continues.
func TestServerRenewal(t *testing.T) {
	server := servertest.S3(t)
	server.Setenv(t)
	bucket := server.Bucket(t)
	server.Put(t, bucket, "a", []byte("content"))
	proxy := server.Proxy(t)
	t.Setenv("AWS_ENDPOINT_URL", proxy.Endpoint())
	store := newStore(t, Options{})
	if err := read(t, store, "s3://"+bucket+"/a"); err != nil {
		t.Fatal(err)
	}
	expired := servertest.ExpiredToken()
	expired.Times = 2 // the HEAD, which cannot say why, and the list
	proxy.Use(expired)
	if err := read(t, store, "s3://"+bucket+"/a"); !errors.Is(err, shard.ErrDenied) || !strings.Contains(err.Error(), "expired") {
		t.Errorf("a moment after they were found: %v", err)
	}
	old := store.clients.current()
	store.clients.made = time.Now().Add(-time.Hour)
	proxy.Use(expired)
	if err := read(t, store, "s3://"+bucket+"/a"); err != nil {
		t.Error(err)
	}
	if store.clients.current() == old || expired.Struck() != 2 {
		t.Error("the credentials were not looked for anew")
	}
}

// TestServerRenewalWithinReads: credentials that end while parts of objects are under way are
// looked up again by one of them, for all.
func TestServerRenewalWithinReads(t *testing.T) {
	r := newRig(t, 16*256<<10, Options{PartSize: 256 << 10})
	old := r.store.clients.current()
	r.store.clients.made = time.Now().Add(-time.Hour)
	expired := servertest.ExpiredToken()
	expired.Times = 1
	r.proxy.Use(expired)
	if err := r.readAll(t, 4); err != nil {
		t.Fatal(err)
	}
	if now := r.store.clients.current(); now == old || expired.Struck() != 1 {
		t.Errorf("the credentials were not looked for anew; %d refused", expired.Struck())
	}
	r.store.clients.made = time.Now().Add(-time.Hour)
	forEver := servertest.ExpiredToken()
	r.proxy.Use(forEver)
	start := time.Now()
	if err := r.readAll(t, 4); !errors.Is(err, shard.ErrDenied) || time.Since(start) > 45*time.Second {
		t.Errorf("expired for good: %v after %v", err, time.Since(start))
	}
}

// TestServerRefusedWithoutReason: an object that is refused without a reason does not count as
// missing.
func TestServerRefusedWithoutReason(t *testing.T) {
	server := servertest.S3(t)
	bucket := server.Bucket(t)
	server.Put(t, bucket, "a", []byte("content"))
	proxy := server.Proxy(t)
	proxy.Use(&servertest.Rule{Match: func(r *http.Request) bool { return r.Method == http.MethodHead }, Answer: &servertest.Answer{Status: 400}})
	o := optionsOf(server)
	o.EndpointURL = proxy.Endpoint()
	_, err := newStore(t, o).List(t.Context(), "s3://"+bucket+"/a")
	if err == nil || errors.Is(err, shard.ErrNotExist) || !strings.Contains(err.Error(), "HTTP 400") || !strings.Contains(err.Error(), "SSE-C") {
		t.Error(err)
	}
}

// TestServerProxyOption: requests go through the proxy that is named.
func TestServerProxyOption(t *testing.T) {
	server := servertest.S3(t)
	bucket := server.Bucket(t)
	server.Put(t, bucket, "a", []byte("content"))
	proxy := server.Proxy(t)
	o := optionsOf(server)
	o.EndpointURL, o.Proxy = strings.Replace(server.Endpoint, "127.0.0.1", "192.0.2.1", 1), proxy.Endpoint() // an address that leads nowhere
	if err := read(t, newStore(t, o), "s3://"+bucket+"/a"); err != nil {
		t.Error(err)
	}
	if sent, _ := proxy.Reads(); sent != 1 {
		t.Errorf("%d reads went through the proxy", sent)
	}
}

// TestNewDoesNothing: without a use, neither files nor servers are asked.
func TestNewDoesNothing(t *testing.T) {
	t.Setenv("AWS_CONFIG_FILE", "/dev/full/none")
	s := New(Options{EndpointURL: "http://192.0.2.1:1", CABundle: "/none"})
	o, err := s.Open(t.Context(), shard.Shard{URI: "s3://b/k", Size: 10, Version: "v"})
	if err != nil {
		t.Fatal(err)
	}
	if err := o.ReadAt(t.Context(), nil, 10); err != nil {
		t.Errorf("reading nothing: %v", err)
	}
	overlap := []shard.Range{{Off: 0, P: make([]byte, 5)}, {Off: 4, P: make([]byte, 5)}}
	if err := shard.ReadRanges(t.Context(), o, overlap); err == nil || !strings.Contains(err.Error(), "overlaps another") {
		t.Errorf("ranges that overlap: %v", err)
	}
	if err := errors.Join(o.Close(), s.Close()); err != nil {
		t.Error(err)
	}
	if tr := s.Traffic(); tr != (shard.Traffic{}) || s.Parallel("s3://b") != parallelReads {
		t.Errorf("%+v, %d", tr, s.Parallel(""))
	}
	for _, uri := range []string{"s3://b", "s3://", "gs://b/k"} {
		if _, err := s.Open(t.Context(), shard.Shard{URI: uri}); !errors.Is(err, shard.ErrBadURI) {
			t.Errorf("%s: %v", uri, err)
		}
		if _, err := s.List(t.Context(), uri); uri != "s3://b" && !errors.Is(err, shard.ErrBadURI) {
			t.Errorf("%s: %v", uri, err)
		}
	}
}
