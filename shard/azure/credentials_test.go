package azure

import (
	"errors"
	"fmt"
	"io"
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
	"github.com/shardfeed/shardfeed/shard/driver/bucket"
	"github.com/shardfeed/shardfeed/shard/shardtest"
)

// Servers are Azure's: of tokens, of identities and of blobs, which expect a token.
type servers struct {
	*httptest.Server
	tokens atomic.Int64 // that were given out
	asked  atomic.Value // by whom the last token was asked for
	status int          // of the answers to requests for tokens; 0: 200
}

func newServers(t *testing.T) *servers {
	s := &servers{}
	give := func(w http.ResponseWriter, who string) {
		s.asked.Store(who)
		w.Header().Set("Content-Type", "application/json")
		if s.status != 0 {
			w.WriteHeader(s.status)
			fmt.Fprint(w, `{"error":"invalid_client","error_description":"AADSTS7000215: the secret is wrong.\r\nTrace ID: 1"}`)
			return
		}
		fmt.Fprintf(w, `{"access_token":"token-%d","expires_in":"3599","token_type":"Bearer"}`, s.tokens.Add(1))
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/tenant/oauth2/v2.0/token", func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil || r.Form.Get("scope") != scope || r.Form.Get("grant_type") != "client_credentials" {
			t.Errorf("%v, %v", r.Form, err)
		}
		give(w, r.Form.Get("client_id")+" "+r.Form.Get("client_secret")+r.Form.Get("client_assertion"))
	})
	mux.HandleFunc("/app", func(w http.ResponseWriter, r *http.Request) {
		give(w, "app "+r.Header.Get("X-Identity-Header")+" "+r.URL.Query().Get("client_id"))
	})
	mux.HandleFunc("/ml", func(w http.ResponseWriter, r *http.Request) {
		give(w, "ml "+r.Header.Get("Secret")+" "+r.URL.Query().Get("clientid"))
	})
	mux.HandleFunc(imdsPath, func(w http.ResponseWriter, r *http.Request) {
		give(w, "machine "+r.Header.Get("Metadata")+" "+r.URL.Query().Get("client_id"))
	})
	mux.HandleFunc("/blobs/container", func(w http.ResponseWriter, r *http.Request) {
		if want := fmt.Sprintf("Bearer token-%d", s.tokens.Load()); r.Header.Get("Authorization") != want || r.Header.Get("X-Ms-Version") == "" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, `<EnumerationResults><Blobs><Blob><Name Encoded="true">d/a%EF%BF%BEb</Name><Properties><Content-Length>3</Content-Length><Etag>0x7</Etag></Properties></Blob></Blobs><NextMarker/></EnumerationResults>`)
	})
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func TestTokens(t *testing.T) {
	s := newServers(t)
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("of kubernetes\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		o     Options
		env   map[string]string
		asked string
		fact  string
	}{
		{"a secret", Options{TenantID: "tenant", ClientID: "client", ClientSecret: "hidden"}, nil, "client hidden", "the secret of client client"},
		{"a secret of the environment", Options{}, map[string]string{"AZURE_TENANT_ID": "tenant", "AZURE_CLIENT_ID": "client", "AZURE_CLIENT_SECRET": "hidden"}, "client hidden", "the secret of client client"},
		{"workload identity", Options{}, map[string]string{"AZURE_TENANT_ID": "tenant", "AZURE_CLIENT_ID": "client", "AZURE_FEDERATED_TOKEN_FILE": file}, "client of kubernetes", "workload identity"},
		{"an app", Options{ClientID: "mine"}, map[string]string{"IDENTITY_ENDPOINT": s.URL + "/app", "IDENTITY_HEADER": "h"}, "app h mine", "managed identity mine of this app"},
		{"Azure ML", Options{}, map[string]string{"MSI_ENDPOINT": s.URL + "/ml", "MSI_SECRET": "h", "AZURE_CLIENT_ID": "mine"}, "ml h mine", "Azure ML"},
		{"a machine", Options{}, nil, "machine true ", "of this machine"},
	} {
		t.Run(c.name, func(t *testing.T) {
			env := map[string]string{"AZURE_AUTHORITY_HOST": s.URL, "AZURE_POD_IDENTITY_AUTHORITY_HOST": s.URL}
			for name, value := range c.env {
				env[name] = value
			}
			o := c.o
			o.Account, o.Endpoint, o.Getenv = "account", s.URL+"/blobs", shardtest.Environ(env)
			store := newStore(t, o)
			for range 2 {
				found, err := store.List(t.Context(), "az://container/d")
				if err != nil || len(found) != 1 || found[0].URI != "az://container/d/a\ufffeb" || found[0].Version != `"0x7"` {
					t.Fatalf("%+v, %v", found, err)
				}
			}
			if s.asked.Load() != c.asked {
				t.Errorf("asked by %q, want %q", s.asked.Load(), c.asked)
			}
			facts, err := store.Explain(t.Context(), "az://container/d")
			if text := fmt.Sprint(facts); err != nil || !strings.Contains(text, c.fact) || strings.Contains(text, "token-") || strings.Contains(text, "hidden") {
				t.Errorf("%s, %v", text, err)
			}
		})
	}
}

func TestNoToken(t *testing.T) {
	s := newServers(t)
	machine := map[string]string{"AZURE_POD_IDENTITY_AUTHORITY_HOST": s.URL}
	secret := Options{TenantID: "tenant", ClientID: "client", ClientSecret: "hidden"}
	for _, c := range []struct {
		name   string
		o      Options
		env    map[string]string
		status int
		want   error
		text   string
	}{
		{"refused", secret, nil, 401, shard.ErrDenied, "invalid_client: AADSTS7000215: the secret is wrong."},
		{"busy for good", secret, nil, 503, shard.ErrTransient, "gave up after"},
		{"no tenant", Options{TenantID: "other", ClientID: "client", ClientSecret: "hidden"}, nil, 0, shard.ErrDenied, "no such tenant"},
		{"no identity", Options{}, machine, 400, cloud.ErrNoCredentials, "AZURE_CLIENT_SECRET"},
		{"no machine", Options{}, map[string]string{"AZURE_POD_IDENTITY_AUTHORITY_HOST": "http://127.0.0.1:1"}, 0, cloud.ErrNoCredentials, "AZURE_CLIENT_SECRET"},
		{"no file", Options{}, map[string]string{"AZURE_TENANT_ID": "tenant", "AZURE_CLIENT_ID": "client", "AZURE_FEDERATED_TOKEN_FILE": "/none"}, 0, os.ErrNotExist, "AZURE_FEDERATED_TOKEN_FILE"},
		{"a wrong token", Options{AccessToken: "hidden"}, nil, 0, shard.ErrDenied, "access token"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.status = c.status
			env := map[string]string{"AZURE_AUTHORITY_HOST": s.URL}
			for name, value := range c.env {
				env[name] = value
			}
			o := c.o
			o.Account, o.Endpoint, o.Getenv, o.RetryFor = "account", s.URL+"/blobs", shardtest.Environ(env), time.Second
			_, err := newStore(t, o).List(t.Context(), "az://container/d/")
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) || strings.Contains(err.Error(), "hidden") {
				t.Errorf("error %v, want %v with %q", err, c.want, c.text)
			}
		})
	}
}

func TestOptions(t *testing.T) {
	o, err := ParseOptions(map[string]string{"az.account_name": "a", "az.anon": "True", "az.account_url": "http://h:1/a", "az.proxy": "http://p:1"})
	if err != nil || o.Account != "a" || !o.Anonymous || o.Endpoint != "http://h:1/a" || o.Proxy != "http://p:1" {
		t.Errorf("%+v, %v", o, err)
	}
	for name, value := range map[string]string{"az.acount": "SECRET", "az.anonymous": "SECRET", "az.endpoint": "SECRET", "az.proxy": "SECRET", "az.client_secret": "SECRET"} {
		if _, err := ParseOptions(map[string]string{name: value}); err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ParseOptions(map[string]string{"az.account_key": "c2VjcmV0", "az.anonymous": "true"}); err == nil {
		t.Error("two kinds of credentials")
	}
}

// The URL of a blob follows from the address and the account.
func TestURLs(t *testing.T) {
	const key = "AccountKey=c2VjcmV0"
	for _, c := range []struct {
		o       Options
		uri     string
		want    string
		refused string
	}{
		{Options{Account: "acc", Anonymous: true}, "az://c/d/a b", "https://acc.blob.core.windows.net/c/d/a%20b", ""},
		{Options{Account: "acc", Anonymous: true}, "abfss://c@other.dfs.core.windows.net/k", "https://other.blob.core.windows.net/c/k", ""},
		{Options{Anonymous: true}, "wasbs://c@other.blob.core.chinacloudapi.cn/k", "https://other.blob.core.chinacloudapi.cn/c/k", ""},
		{Options{Anonymous: true}, "abfss://Work Space@onelake.dfs.fabric.microsoft.com/l.Lakehouse/Files/k", "https://onelake.blob.fabric.microsoft.com/Work%20Space/l.Lakehouse/Files/k", ""},
		{Options{ConnectionString: "AccountName=acc;EndpointSuffix=core.usgovcloudapi.net;" + key}, "az://c/k", "https://acc.blob.core.usgovcloudapi.net/c/k", ""},
		{Options{ConnectionString: "UseDevelopmentStorage=true"}, "az://c/k", "http://127.0.0.1:10000/devstoreaccount1/c/k", ""},
		{Options{ConnectionString: "BlobEndpoint=https://h/acc/;AccountName=acc;" + key}, "abfss://c@acc.dfs.core.windows.net/k", "https://h/acc/c/k", ""},
		{Options{Anonymous: true}, "az://c/k", "", "which account"},
		{Options{Account: "acc", Key: "c2VjcmV0"}, "abfss://c@other.dfs.core.windows.net/k", "", `credentials are of account "acc"`},
		{Options{Account: "acc", Key: "SECRET!"}, "az://c/k", "", "base64"},
		{Options{ConnectionString: "AccountKey=SECRET"}, "az://c/k", "", "AccountName"},
		{Options{SAS: "SECRET"}, "az://c/k", "", "sig="},
	} {
		o := c.o
		o.Getenv = shardtest.Environ(nil)
		s, err := o.service()
		if err == nil {
			_, path := shard.SplitScheme(c.uri)
			var at bucket.Location
			if at, err = locate(path); err == nil {
				var got string
				if got, err = s.Object(at, ""); err == nil && got != c.want {
					t.Errorf("%s is %s, want %s", c.uri, got, c.want)
				}
			}
		}
		if (err != nil) != (c.refused != "") || err != nil && (!strings.Contains(err.Error(), c.refused) || strings.Contains(err.Error(), "SECRET")) {
			t.Errorf("%s: %v, want %q", c.uri, err, c.refused)
		}
	}
}

// Credentials are sent to no other hosts than Azure's.
func TestAddresses(t *testing.T) {
	s := newStore(t, Options{Account: "a", Anonymous: true})
	for uri, want := range map[string]string{
		"az://": "no container", "az:///a": "no container", "abfss://c@evil.example.com/a": "a host of Azure", "abfss://c@x.dfs.core.windows.net.evil.com/a": "a host of Azure",
		"abfss://c@dfs.core.windows.net/a": "a host of Azure", "az://a:b/c": "cannot be",
	} {
		if _, err := s.List(t.Context(), uri); !errors.Is(err, shard.ErrBadURI) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", uri, err)
		}
	}
	if s.Identity("abfss://c@a.dfs.core.windows.net/k") != s.Identity("wasbs://c@a.blob.core.windows.net/k") {
		t.Error("identities differ")
	}
}
