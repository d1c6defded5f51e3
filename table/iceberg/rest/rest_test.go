package rest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/shardfeed/shardfeed/internal/leaktest"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/mem"
	"github.com/shardfeed/shardfeed/table"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

const metadata = `{"format-version":2,"table-uuid":"u","location":"mem://t","current-snapshot-id":-1,"current-schema-id":0,
 "schemas":[{"type":"struct","schema-id":0,"fields":[{"id":1,"name":"id","required":true,"type":"long"}]}],
 "snapshots":[{"snapshot-id":3,"timestamp-ms":1767225600000,"manifest-list":"mem://t/x.avro","summary":{"operation":"append"}}]}`

// A server is a catalog that answers for one table.
type server struct {
	*httptest.Server
	requests []string // method, path and authorization
	busy     int      // answers of 503 before the first other one
	form     url.Values
	more     map[string]any // of the answer about a table
}

func newServer(t *testing.T) *server {
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	s.requests = append(s.requests, strings.TrimSpace(r.Method+" "+r.URL.RequestURI()+" "+r.Header.Get("Authorization")))
	switch path := r.URL.EscapedPath(); {
	case s.busy > 0:
		s.busy--
		w.WriteHeader(http.StatusServiceUnavailable)
	case path == "/v1/oauth/tokens":
		_ = r.ParseForm()
		s.form = r.PostForm
		fmt.Fprint(w, `{"access_token":"T","token_type":"bearer","expires_in":3600}`)
	case path == "/v1/config":
		fmt.Fprint(w, `{"defaults":{"prefix":"no"},"overrides":{"prefix":"ws/1"}}`)
	case path == "/v1/ws/1/namespaces/a%1Fb/tables/t.1":
		if r.Header.Get(delegation) != vended {
			w.WriteHeader(http.StatusBadRequest)
		}
		answer := map[string]any{"metadata-location": "mem://t/metadata/v1.metadata.json", "metadata": json.RawMessage(metadata)}
		maps.Copy(answer, s.more)
		_ = json.NewEncoder(w).Encode(answer)
	case strings.HasSuffix(path, "/denied"):
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"error":{"message":"no grant","type":"ForbiddenException","code":403}}`)
	default:
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"error":{"message":"Table does not exist: x","type":"NoSuchTableException","code":404}}`)
	}
}

// options of a catalog with some properties and nothing of the machine's.
func (s *server) options(properties ...string) Options {
	o := Options{Properties: map[string]string{"uri": s.URL + "/"}, Getenv: func(string) string { return "" }, Environ: func() []string { return nil }}
	for _, p := range properties {
		name, value, _ := strings.Cut(p, "=")
		o.Properties[name] = value
	}
	return o
}

// A table is asked of its catalog, with the prefix that the catalog wants and a token.
func TestOpen(t *testing.T) {
	for name, c := range map[string]struct {
		properties []string
		want       string
	}{
		"no token":   {nil, "GET /v1/config\nGET /v1/ws/1/namespaces/a%1Fb/tables/t.1"},
		"token":      {[]string{"token=X", "warehouse=w h"}, "GET /v1/config?warehouse=w+h Bearer X\nGET /v1/ws/1/namespaces/a%1Fb/tables/t.1 Bearer X"},
		"credential": {[]string{"credential=me:pass:word", "scope=all"}, "POST /v1/oauth/tokens\nGET /v1/config Bearer T\nGET /v1/ws/1/namespaces/a%1Fb/tables/t.1 Bearer T"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			snapshot, err := Open(t.Context(), "iceberg://prod/a.b.t%2E1", s.options(c.properties...), table.Options{Store: &mem.Store{}})
			if err != nil || snapshot.Table != "u" || len(snapshot.Fields) != 1 {
				t.Fatalf("%+v, %v", snapshot, err)
			}
			if got := strings.Join(s.requests, "\n"); got != c.want {
				t.Errorf("requests\n%s\nwant\n%s", got, c.want)
			}
			if name == "credential" && s.form.Encode() != "client_id=me&client_secret=pass%3Aword&grant_type=client_credentials&scope=all" {
				t.Errorf("form %s", s.form.Encode())
			}
		})
	}
}

func TestHistory(t *testing.T) {
	s := newServer(t)
	all, err := History(t.Context(), "iceberg://prod/a.b.t%2E1", s.options())
	if err != nil || len(all) != 1 || all[0].Name != "3" || all[0].Operation != "append" {
		t.Errorf("%+v, %v", all, err)
	}
}

// A busy catalog is asked again.
func TestBusy(t *testing.T) {
	s := newServer(t)
	s.busy = 1
	if _, err := History(t.Context(), "iceberg://prod/a.b.t%2E1", s.options()); err != nil || len(s.requests) != 3 {
		t.Errorf("%d requests, %v", len(s.requests), err)
	}
}

func TestErrors(t *testing.T) {
	for name, c := range map[string]struct {
		address    string
		properties []string
		kind       error
		want       string
	}{
		"no table":    {"iceberg://prod/a.x", nil, shard.ErrNotExist, "catalog prod answered 404: NoSuchTableException Table does not exist: x"},
		"denied":      {"iceberg://prod/a.denied", nil, shard.ErrDenied, "ForbiddenException no grant"},
		"one part":    {"iceberg://prod/a", nil, shard.ErrBadURI, "iceberg://CATALOG/NAMESPACE.TABLE"},
		"no catalog":  {"iceberg:///a.b", nil, shard.ErrBadURI, "iceberg://CATALOG/NAMESPACE.TABLE"},
		"empty level": {"iceberg://prod/a..b", nil, shard.ErrBadURI, "iceberg://CATALOG/NAMESPACE.TABLE"},
		"slashes":     {"iceberg://prod/a/b", nil, shard.ErrBadURI, "iceberg://CATALOG/NAMESPACE.TABLE"},
		"no uri":      {"iceberg://prod/a.b", []string{"uri="}, nil, `the catalog "prod" has no uri: set the storage option iceberg.uri`},
		"glue":        {"iceberg://prod/a.b", []string{"type=glue"}, nil, `of type glue, and only catalogs of type rest`},
		"bad uri":     {"iceberg://prod/a.b", []string{"uri=http://a b"}, shard.ErrBadURI, "the uri of the catalog"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			_, err := Open(t.Context(), c.address, s.options(c.properties...), table.Options{Store: &mem.Store{}})
			if e := (*shard.Error)(nil); err == nil || !strings.Contains(err.Error(), c.want) || !errors.As(err, &e) || c.kind != nil && !errors.Is(err, c.kind) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

// Properties come from options, then the environment, then pyiceberg's file.
func TestProperties(t *testing.T) {
	home := t.TempDir()
	const file = `# pyiceberg's settings
catalog:
  default:
    uri: http://other
  prod:
    uri: "http://file:1"   # quoted
    warehouse: of-file # comment
    credential: 'a:b#c'
    s3.endpoint: http://minio:9000
    nested:
      uri: deeper
other:
  prod:
    uri: elsewhere
`
	if err := os.WriteFile(home+"/.pyiceberg.yaml", []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	o := Options{
		Properties: map[string]string{"token": "given"},
		Getenv:     func(name string) string { return map[string]string{"HOME": home}[name] },
		Environ: func() []string {
			return []string{"PYICEBERG_CATALOG__PROD__WAREHOUSE=of-env", "PYICEBERG_CATALOG__PROD__REST__SIGNING_NAME=glue", "X=y"}
		},
	}
	got, err := o.properties("prod")
	want := map[string]string{
		"uri": "http://file:1", "warehouse": "of-env", "credential": "a:b#c", "s3.endpoint": "http://minio:9000", "rest.signing-name": "glue", "token": "given",
	}
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	for _, text := range []string{"catalog", "a: b\n- c", "catalog:\n\tprod: x"} {
		if _, err := parseYAML(text, "catalog", "prod"); err == nil {
			t.Errorf("%q is read", text)
		}
	}
}

func TestParseOptions(t *testing.T) {
	o, err := ParseOptions(map[string]string{"iceberg.uri": "u", "iceberg.header.X-A": "b"})
	if err != nil || o.Properties["uri"] != "u" || o.Properties["header.X-A"] != "b" {
		t.Errorf("%v, %v", o.Properties, err)
	}
	if _, err := ParseOptions(map[string]string{"iceberg.url": "u"}); err == nil || !strings.Contains(err.Error(), "iceberg.url") {
		t.Errorf("got %v", err)
	}
}

// A signature of AWS covers the request; its value is of AWS's own signer.
func TestSignature(t *testing.T) {
	r, err := http.NewRequest(http.MethodGet, "https://glue.eu-west-1.amazonaws.com/iceberg/v1/config?warehouse=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	cfg := aws.Config{Region: "eu-west-1", Credentials: credentials.NewStaticCredentialsProvider("AK", "SK", "TOK")}
	if err := signAWS(r, "", cfg, "glue", time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	got := r.Header.Get("Authorization")
	if !strings.HasPrefix(got, "AWS4-HMAC-SHA256 Credential=AK/19700101/eu-west-1/glue/aws4_request, SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token, Signature=") {
		t.Errorf("authorization %s", got)
	}
}

// With SigV4 each request of a catalog carries a signature that AWS's signer makes too.
func TestSignedRequests(t *testing.T) {
	s := newServer(t)
	cfg := aws.Config{Region: "eu-west-1", Credentials: credentials.NewStaticCredentialsProvider("AK", "SK", "TOK")}
	signed := 0
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
		if err != nil {
			t.Error(err)
		}
		again, err := http.NewRequest(r.Method, s.URL+r.URL.RequestURI(), nil)
		if err != nil {
			t.Error(err)
		}
		again.Header = r.Header.Clone()
		for _, added := range []string{"Authorization", "X-Amz-Security-Token", "User-Agent", "Accept-Encoding"} {
			again.Header.Del(added)
		}
		if err := signAWS(again, "", cfg, "s3tables", at); err != nil {
			t.Error(err)
		}
		if got, want := r.Header.Get("Authorization"), again.Header.Get("Authorization"); got != want || !strings.Contains(got, "/eu-west-1/s3tables/") {
			t.Errorf("%s is signed by\n%s, want\n%s", r.URL, got, want)
		}
		signed++
		s.serve(w, r)
	})
	o := s.options("rest.sigv4-enabled=true", "rest.signing-region=eu-west-1", "rest.signing-name=s3tables", "warehouse=arn:aws:s3tables:eu-west-1:1:bucket/b")
	keys := map[string]string{"AWS_ACCESS_KEY_ID": "AK", "AWS_SECRET_ACCESS_KEY": "SK", "AWS_SESSION_TOKEN": "TOK"}
	o.Getenv = func(name string) string { return keys[name] }
	if _, err := Open(t.Context(), "iceberg://prod/a.b.t%2E1", o, table.Options{Store: &mem.Store{}}); err != nil || signed != 2 {
		t.Errorf("%d requests, %v", signed, err)
	}
}

// A borrower keeps what it is lent.
type borrower struct {
	mem.Store
	prefixes []string
	first    []shard.Credentials
	renew    shard.Renew // of the first one
}

func (b *borrower) Borrow(prefix string, first shard.Credentials, renew shard.Renew) error {
	if b.renew == nil {
		b.renew = renew
	}
	b.prefixes, b.first = append(b.prefixes, prefix), append(b.first, first)
	return nil
}

// Credentials of a catalog go to the store of the files, which can ask for newer ones.
func TestLend(t *testing.T) {
	key := func(k string) map[string]any {
		return map[string]any{"s3.access-key-id": k}
	}
	for name, c := range map[string]struct {
		more map[string]any
		want string
	}{
		"prefixes": {map[string]any{"config": map[string]any{"client.region": "r"}, "storage-credentials": []any{
			map[string]any{"prefix": "s3://b/t", "config": key("K1")}, map[string]any{"prefix": "gs://b/t", "config": nil},
		}}, "[s3://b/t gs://b/t] K1 r"},
		"scheme": {map[string]any{"metadata-location": "s3://b/t/m.json", "storage-credentials": []any{
			map[string]any{"prefix": "s3", "config": key("K3")},
		}}, "[s3://b] K3 "},
		"config": {map[string]any{"metadata-location": "s3a://b/t/m.json", "config": key("K2")}, "[s3a://b] K2 "},
		"none":   {nil, "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			s, store := newServer(t), &borrower{}
			s.more = c.more
			if _, err := Open(t.Context(), "iceberg://prod/a.b.t%2E1", s.options(), table.Options{Store: store}); err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprint(store.prefixes)
			if len(store.first) > 0 {
				p := store.first[0]
				got += fmt.Sprintf(" %s %s", p["s3.access-key-id"], p["client.region"])
				next, err := store.renew(t.Context())
				if err != nil || next["s3.access-key-id"] != p["s3.access-key-id"] {
					t.Errorf("renewed: %v, %v", next, err)
				}
				s.more = nil
				if _, err := store.renew(t.Context()); !errors.Is(err, shard.ErrDenied) {
					t.Errorf("no more credentials: %v", err)
				}
			}
			if got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
