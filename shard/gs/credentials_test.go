package gs

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/cloud"
	"github.com/shardfeed/shardfeed/shard/shardtest"
)

// Servers are Google's: of tokens, of metadata and of storage, which expects a token.
type servers struct {
	*httptest.Server
	tokens atomic.Int64 // that were given out
	grant  atomic.Value // of the last request for a token
	status int          // of the answers to requests for tokens; 0: 200
	life   int          // of a token in seconds
}

func newServers(t *testing.T) *servers {
	g := &servers{life: 3600}
	give := func(w http.ResponseWriter) {
		if g.status != 0 {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(g.status)
			fmt.Fprint(w, `{"error":"invalid_grant","error_description":"the account is gone"}`)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"access_token":"token-%d","expires_in":%d,"token_type":"Bearer"}`, g.tokens.Add(1), g.life)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		g.grant.Store(r.Form.Get("grant_type"))
		give(w)
	})
	mux.HandleFunc(metadataPath, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Metadata-Flavor") != "Google" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		give(w)
	})
	mux.HandleFunc("/storage/v1/b/bucket/o", func(w http.ResponseWriter, r *http.Request) {
		if want := fmt.Sprintf("Bearer token-%d", g.tokens.Load()); r.Header.Get("Authorization") != want {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprintf(w, `{"kind":"storage#objects","items":[{"name":"d/o%s","size":"3","generation":"7"}]}`, r.Header.Get("X-Goog-User-Project"))
	})
	g.Server = httptest.NewServer(mux)
	t.Cleanup(g.Close)
	return g
}

func write(t *testing.T, content any) string {
	t.Helper()
	text, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "application_default_credentials.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func serviceAccount(t *testing.T, g *servers) map[string]string {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{
		"type": "service_account", "client_email": "a@b", "private_key_id": "1", "token_uri": g.URL + "/token",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
	}
}

// Each kind of credentials leads to a token, and the token to the bucket.
func TestCredentials(t *testing.T) {
	g := newServers(t)
	account := serviceAccount(t, g)
	file := write(t, account)
	inline, err := json.Marshal(account)
	if err != nil {
		t.Fatal(err)
	}
	subject := filepath.Join(t.TempDir(), "subject")
	if err := os.WriteFile(subject, []byte("a token of kubernetes"), 0o600); err != nil {
		t.Fatal(err)
	}
	federated := write(t, map[string]any{
		"type": "external_account", "audience": "a", "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
		"token_url": g.URL + "/token", "credential_source": map[string]string{"file": subject},
	})
	host := strings.TrimPrefix(g.URL, "http://")
	for _, c := range []struct {
		name  string
		o     Options
		env   map[string]string
		grant string
		fact  string
	}{
		{"a file of the environment", Options{}, map[string]string{"GOOGLE_APPLICATION_CREDENTIALS": file}, "urn:ietf:params:oauth:grant-type:jwt-bearer", "service account of " + file},
		{"the file of gcloud", Options{}, map[string]string{"CLOUDSDK_CONFIG": filepath.Dir(file)}, "urn:ietf:params:oauth:grant-type:jwt-bearer", "service account of"},
		{"a file of the options", Options{Token: file}, nil, "urn:ietf:params:oauth:grant-type:jwt-bearer", "service account of"},
		{"its content", Options{Token: string(inline)}, nil, "urn:ietf:params:oauth:grant-type:jwt-bearer", "service account of the options"},
		{"workload identity federation", Options{Token: federated}, nil, "urn:ietf:params:oauth:grant-type:token-exchange", "external account"},
		{"the metadata server", Options{}, map[string]string{"GCE_METADATA_HOST": host}, "", "metadata server " + host},
		{"the metadata server by name", Options{Token: "cloud"}, map[string]string{"GCE_METADATA_HOST": host, "GOOGLE_APPLICATION_CREDENTIALS": "/none"}, "", "metadata server"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g.grant.Store("")
			o := c.o
			o.Endpoint, o.Getenv, o.UserProject = g.URL, shardtest.Environ(c.env), "payer"
			s := newStore(t, o)
			found, err := s.List(t.Context(), "gs://bucket/d")
			if err != nil || len(found) != 1 || found[0].URI != "gs://bucket/d/opayer" || found[0].Size != 3 || found[0].Version != "7" {
				t.Fatalf("%+v, %v", found, err)
			}
			if g.grant.Load() != c.grant {
				t.Errorf("grant %s, want %s", g.grant.Load(), c.grant)
			}
			facts, err := s.Explain(t.Context(), "gs://bucket/d")
			if text := fmt.Sprint(facts); err != nil || !strings.Contains(text, c.fact) || strings.Contains(text, "token-") || strings.Contains(text, "PRIVATE") {
				t.Errorf("%s, %v", text, err)
			}
		})
	}
}

// A token is used until it expires soon, and then there is another.
func TestTokenRenewed(t *testing.T) {
	for life, want := range map[int]int64{3600: 1, 60: 3} {
		g := newServers(t)
		g.life = life
		s := newStore(t, Options{Endpoint: g.URL, Getenv: shardtest.Environ(map[string]string{"GCE_METADATA_HOST": strings.TrimPrefix(g.URL, "http://")})})
		for range 3 {
			if _, err := s.List(t.Context(), "gs://bucket/d/"); err != nil {
				t.Fatal(err)
			}
		}
		if n := g.tokens.Load(); n != want {
			t.Errorf("%d tokens of %d s, want %d", n, life, want)
		}
	}
}

func TestNoToken(t *testing.T) {
	g := newServers(t)
	file := write(t, serviceAccount(t, g))
	metadata := map[string]string{"GCE_METADATA_HOST": strings.TrimPrefix(g.URL, "http://")}
	for _, c := range []struct {
		name   string
		o      Options
		env    map[string]string
		status int
		want   error
		text   string
	}{
		{"refused", Options{Token: file}, nil, 400, shard.ErrDenied, "invalid_grant: the account is gone"},
		{"busy for good", Options{Token: file}, nil, 503, shard.ErrTransient, "gave up after"},
		{"no service account", Options{}, metadata, 404, cloud.ErrNoCredentials, "GOOGLE_APPLICATION_CREDENTIALS"},
		{"no file", Options{Token: "/none.json"}, nil, 0, os.ErrNotExist, "/none.json"},
		{"no JSON", Options{Token: write(t, "SECRET")}, nil, 0, shard.ErrDenied, "credentials"},
		{"an unknown kind", Options{Token: `{"type":"magic","client_secret":"SECRET"}`}, nil, 0, shard.ErrDenied, "magic"},
		{"anonymous", Options{Anonymous: true}, nil, 0, shard.ErrDenied, "anonymous requests"},
		{"a wrong token", Options{AccessToken: "SECRET"}, nil, 0, shard.ErrDenied, "Storage Object Viewer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g.status = c.status
			o := c.o
			o.Endpoint, o.Getenv, o.RetryFor = g.URL, shardtest.Environ(c.env), time.Second
			_, err := newStore(t, o).List(t.Context(), "gs://bucket/d/")
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) || strings.Contains(err.Error(), "SECRET") {
				t.Errorf("error %v, want %v with %q", err, c.want, c.text)
			}
		})
	}
}

func TestOptions(t *testing.T) {
	o, err := ParseOptions(map[string]string{"gs.token": "cloud", "gs.endpoint_url": "http://h:1", "gs.requester_pays": "p", "gs.proxy": "http://p:1"})
	if err != nil || o.Token != "cloud" || o.Endpoint != "http://h:1" || o.UserProject != "p" || o.Proxy != "http://p:1" {
		t.Errorf("%+v, %v", o, err)
	}
	for name, value := range map[string]string{"gs.tokn": "SECRET", "gs.anonymous": "SECRET", "gs.endpoint": "SECRET", "gs.proxy": "SECRET"} {
		if _, err := ParseOptions(map[string]string{name: value}); err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ParseOptions(map[string]string{"gs.token": "cloud", "gs.anonymous": "true"}); err == nil {
		t.Error("two kinds of credentials")
	}
	for variable, want := range map[string]string{"localhost:4443": "http://localhost:4443", "https://h/": "https://h"} {
		s, err := Options{Getenv: shardtest.Environ(map[string]string{"STORAGE_EMULATOR_HOST": variable})}.service()
		if err != nil || s.endpoint != want || s.source != "none (anonymous)" {
			t.Errorf("%s: %+v, %v", variable, s, err)
		}
	}
}

func TestAddresses(t *testing.T) {
	s := newStore(t, Options{Anonymous: true})
	for uri, want := range map[string]string{"gs://": "no bucket", "gs:///a": "no bucket", "gs://user:secret@bucket/a": "cannot hold credentials", "gs://A/b": "cannot be"} {
		_, err := s.List(t.Context(), uri)
		if !errors.Is(err, shard.ErrBadURI) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", uri, err)
		}
	}
	if s.Identity("gcs://b-1/k") != s.Identity("gs://b-1/k") || s.Identity("gs://b-1/k") == s.Identity("gs://b-1/K") {
		t.Error("identities")
	}
}
