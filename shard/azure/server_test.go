package azure

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/servertest"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/cloud"
	"github.com/shardfeed/shardfeed/shard/shardtest"
)

// bearer is a token of OAuth as the emulator takes it.
func bearer(t *testing.T, life time.Duration) string {
	part := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return base64.RawURLEncoding.EncodeToString(text)
	}
	now := time.Now()
	return part(map[string]string{"alg": "RS256", "typ": "JWT"}) + "." + part(map[string]any{
		"aud": "https://storage.azure.com", "iss": "https://sts.windows.net/ab1f708d-50f6-404c-a006-d71b2ac7a606/",
		"iat": now.Unix(), "nbf": now.Add(-time.Minute).Unix(), "exp": now.Add(life).Unix(), "oid": "23657296-5cd5-45b0-a809-d972a7f4dfe1",
	}) + ".c2lnbmF0dXJl"
}

// accountSAS is a signature for reads and lists of blobs.
func accountSAS(t *testing.T, server *servertest.AzureServer) string {
	key, err := base64.StdEncoding.DecodeString(server.Key)
	if err != nil {
		t.Fatal(err)
	}
	const version = "2020-08-04"
	expiry := time.Now().Add(time.Hour).UTC().Format("2006-01-02T15:04:05Z")
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s\nrl\nb\nco\n\n%s\n\n\n%s\n", server.Account, expiry, version)
	query := url.Values{"sv": {version}, "ss": {"b"}, "srt": {"co"}, "sp": {"rl"}, "se": {expiry}, "sig": {base64.StdEncoding.EncodeToString(mac.Sum(nil))}}
	return query.Encode()
}

// The server takes each kind of credentials, and denies wrong ones with a hint.
func TestServerCredentials(t *testing.T) {
	server := servertest.AzuriteWithTLS(t)
	f := newFixture(t, server)
	f.Write(t, "d/a", []byte("content"))
	sas := accountSAS(t, server)
	for _, c := range []struct {
		name string
		o    Options
		env  map[string]string
		text string // of an error; "": none
	}{
		{"a key", Options{Account: server.Account, Key: server.Key, Endpoint: server.Endpoint}, nil, ""},
		{"a key of the environment", Options{Endpoint: server.Endpoint}, map[string]string{"AZURE_STORAGE_ACCOUNT_NAME": server.Account, "AZURE_STORAGE_ACCOUNT_KEY": server.Key}, ""},
		{"a connection string", Options{ConnectionString: server.ConnectionString()}, nil, ""},
		{"a connection string of the environment", Options{}, map[string]string{"AZURE_STORAGE_CONNECTION_STRING": server.ConnectionString()}, ""},
		{"a signature", Options{SAS: "?" + sas, Endpoint: server.Endpoint}, nil, ""},
		{"a signature in a connection string", Options{ConnectionString: "BlobEndpoint=" + server.Endpoint + ";AccountName=tester;SharedAccessSignature=" + sas}, nil, ""},
		{"a token", Options{AccessToken: bearer(t, time.Hour), Endpoint: server.Endpoint}, nil, ""},
		{"a wrong key", Options{Account: server.Account, Key: "c2VjcmV0", Endpoint: server.Endpoint}, nil, "InvalidAuthenticationInfo|the key or the signature is wrong"},
		{"a wrong signature", Options{SAS: strings.Replace(sas, "sp=rl", "sp=rwl", 1), Endpoint: server.Endpoint}, nil, "AuthorizationFailure|see what the credentials may do"},
		{"an old token", Options{AccessToken: bearer(t, -time.Minute), Endpoint: server.Endpoint}, nil, "AuthenticationFailed|access token"},
		{"nobody", Options{Anonymous: true, Endpoint: server.Endpoint}, nil, "403|anonymous requests"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := c.o
			o.CABundle, o.Getenv, o.RetryFor = server.CA, shardtest.Environ(c.env), time.Second
			s := newStore(t, o)
			found, err := s.List(t.Context(), f.Address("d"))
			if c.text != "" {
				secret := strings.Contains(fmt.Sprint(err), "sig=") || o.AccessToken != "" && strings.Contains(fmt.Sprint(err), o.AccessToken)
				code, hint, _ := strings.Cut(c.text, "|")
				denied := errors.Is(err, shard.ErrDenied) || strings.HasPrefix(code, "Invalid") // as the emulator has it where it takes tokens
				if !denied || !strings.Contains(err.Error(), code) || !strings.Contains(err.Error(), hint) || secret {
					t.Errorf("error %v, want one with %q", err, c.text)
				}
				return
			}
			if err != nil || len(found) != 1 || strings.Contains(found[0].URI+s.Identity(found[0].URI), "sig") {
				t.Fatalf("%v, %v", found, err)
			}
			object, err := s.Open(t.Context(), found[0])
			if err != nil {
				t.Fatal(err)
			}
			p := make([]byte, 4)
			if err := object.ReadAt(t.Context(), p, 3); err != nil || string(p) != "tent" {
				t.Errorf("%q, %v", p, err)
			}
			facts, err := s.Explain(t.Context(), f.Address("d"))
			text := fmt.Sprint(facts)
			if err != nil || !strings.Contains(text, "can be listed") || strings.Contains(text, server.Key) || strings.Contains(text, "sig=") {
				t.Errorf("%s, %v", text, err)
			}
		})
	}
}

func isList(r *http.Request) bool { return r.URL.Query().Get("comp") == "list" }
func isRead(r *http.Request) bool {
	return r.Method == http.MethodGet && !isList(r) && r.Header.Get("Range") != "bytes=0-0" // no look
}

func TestServerFaults(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789abcdef"), 40_000)
	server := servertest.Azurite(t)
	refused := func(status int, code, text string) *servertest.Answer {
		head := http.Header{"Content-Type": {"application/xml"}, "X-Ms-Error-Code": {code}}
		return &servertest.Answer{Status: status, Header: head, Body: "<Error><Code>" + code + "</Code><Message>" + text + "\nRequestId:1</Message></Error>"}
	}
	for _, c := range []struct {
		name string
		rule *servertest.Rule
		want error // nil: the bytes come
		text string
	}{
		{"busy", &servertest.Rule{Match: isRead, Times: 3, Answer: refused(503, "ServerBusy", "slow down")}, nil, ""},
		{"a list that is busy", &servertest.Rule{Match: isList, Times: 2, Answer: refused(503, "ServerBusy", "slow down")}, nil, ""},
		{"timeout", &servertest.Rule{Match: isRead, Times: 2, Answer: refused(500, "OperationTimedOut", "late")}, nil, ""},
		{"cut", &servertest.Rule{Match: isRead, Times: 4, Cut: func(n int64) bool { return n > 100_000 }, After: 50_000}, nil, ""},
		{"reset", &servertest.Rule{Match: isRead, Times: 3, Cut: func(int64) bool { return true }, Reset: true}, nil, ""},
		{"busy for good", &servertest.Rule{Match: isRead, Answer: refused(503, "ServerBusy", "slow down")}, shard.ErrTransient, "ServerBusy: slow down"},
		{"rights", &servertest.Rule{Match: servertest.Any, Answer: refused(403, "AuthorizationPermissionMismatch", "no")}, shard.ErrDenied, "Storage Blob Data Reader"},
		{"archived", &servertest.Rule{Match: isRead, Answer: refused(409, "BlobArchived", "no")}, nil, "hot or cool"},
		{"another blob", &servertest.Rule{Match: isRead, Header: func(r *http.Response) { r.Header.Set("ETag", `"0x1"`) }}, shard.ErrChanged, `ETag "0x1"`},
		{"a login page", &servertest.Rule{Match: isList, Answer: &servertest.Answer{Status: 200, Body: "<html>log in"}}, errForeign, "log in"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, server)
			f.Write(t, "f", content)
			proxy := servertest.NewHTTPProxy(t, strings.TrimSuffix(server.Endpoint, "/"+server.Account))
			f.store = newStore(t, Options{Account: server.Account, Key: server.Key, Endpoint: proxy.Endpoint() + "/" + server.Account, RetryFor: 2 * time.Second})
			proxy.Use(c.rule)
			got, err := shardtest.ReadFile(t, f, len(content))
			if c.rule.Struck() == 0 || c.text == "" && (err != nil || !bytes.Equal(got, content)) || c.want != nil && !errors.Is(err, c.want) {
				t.Fatalf("error %v, want %v; the fault struck %d times", err, c.want, c.rule.Struck())
			}
			if c.text != "" && (err == nil || !strings.Contains(err.Error(), c.text) || strings.Contains(err.Error(), "RequestId")) {
				t.Errorf("the error lacks %q: %v", c.text, err)
			}
		})
	}
}

// A blob that is replaced is refused by the server, and the error has both versions.
func TestServerReplaced(t *testing.T) {
	f := newFixture(t, servertest.Azurite(t))
	f.Write(t, "f", []byte("first"))
	found, err := f.store.List(t.Context(), f.Address("f"))
	if err != nil {
		t.Fatal(err)
	}
	o, err := f.store.Open(t.Context(), found[0])
	if err != nil {
		t.Fatal(err)
	}
	f.Write(t, "f", []byte("other one"))
	if err := o.ReadAt(t.Context(), make([]byte, 5), 0); !errors.Is(err, shard.ErrChanged) || !strings.Contains(err.Error(), found[0].Version) || !strings.Contains(err.Error(), "of 9 bytes") {
		t.Error(err)
	}
}

// Keys are taken as they are, in lists and in reads, by a key and by a signature.
func TestServerKeys(t *testing.T) {
	server := servertest.Azurite(t)
	f := newFixture(t, server)
	names := []string{"d/a b", "d/100%", "d/x#y", "d/q?x", "d/한", "d/a+b", "d/k=v%2Fw/a", "d/a;b&c", "d/'q'", "d/a//b"}
	for _, name := range names {
		f.Write(t, name, []byte(name))
	}
	for _, store := range []*cloud.Store{f.store, newStore(t, Options{SAS: accountSAS(t, server), Endpoint: server.Endpoint})} {
		found, err := store.List(t.Context(), f.Address("d"))
		if err != nil || len(found) != len(names) {
			t.Fatalf("%d shards, %v", len(found), err)
		}
		for _, s := range found {
			o, err := store.Open(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			p := make([]byte, s.Size)
			if err := o.ReadAt(t.Context(), p, 0); err != nil || f.Address(string(p)) != s.URI {
				t.Errorf("%s: %q, %v", s.URI, p, err)
			}
		}
	}
}

// Blobs that mark directories, as accounts with a hierarchical namespace have them, are not shards.
func TestServerFolders(t *testing.T) {
	f := newFixture(t, servertest.Azurite(t))
	for _, folder := range []string{"t", "t/k=1", "t/empty"} {
		f.server.Put(t, f.container, folder, nil, "X-Ms-Meta-Hdi_isfolder", "true")
	}
	f.Write(t, "t/k=1/a", []byte("x"))
	for _, pattern := range []string{"t", "t/", "t/*", "t/k=1", "t/k=?/*", "{t,t}/k=1/a"} {
		found, err := f.store.List(t.Context(), f.Address(pattern))
		if err != nil || len(found) != 1 || found[0].URI != f.Address("t/k=1/a") {
			t.Errorf("%s: %v, %v", pattern, found, err)
		}
	}
	if _, err := f.store.List(t.Context(), f.Address("t/empty")); !errors.Is(err, shard.ErrNotExist) {
		t.Errorf("an empty directory: %v", err)
	}
}

// A long list comes in pages.
func TestServerPages(t *testing.T) {
	f := newFixture(t, servertest.Azurite(t))
	for i := range 60 {
		f.Write(t, fmt.Sprintf("t/k=%02d/part-%d", i%20, i), []byte("x"))
	}
	for _, n := range []int{0, 7} {
		s, err := (Options{Account: f.server.Account, Key: f.server.Key, Endpoint: f.server.Endpoint, Getenv: shardtest.Environ(nil)}).service()
		if err != nil {
			t.Fatal(err)
		}
		s.pageKeys = n
		store := Options{}.store(func() (cloud.Service, error) { return s, nil })
		for pattern, want := range map[string]int{"t": 60, "t/k=0*": 30, "t/k=07/*": 3, "t/**/part-5*": 11} {
			if found, err := store.List(t.Context(), f.Address(pattern)); err != nil || len(found) != want {
				t.Errorf("pages of %d, %s: %d shards, %v", n, pattern, len(found), err)
			}
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}
}
