package webhdfs

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/servertest"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/hdfs/conf"
	"github.com/shardfeed/shardfeed/shard/hdfs/krb"
)

// secured is the setup of a secure cluster's configuration with a source of tickets.
func secured(t *testing.T, c *servertest.Cluster, o krb.Options) func() (*conf.Conf, *krb.Source, error) {
	t.Helper()
	loaded, err := conf.Load(c.ConfDir)
	if err != nil {
		t.Fatal(err)
	}
	source, err := krb.New(o, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(source.Close)
	return func() (*conf.Conf, *krb.Source, error) { return loaded, source, nil }
}

// TestServerKerberos reads from a secure cluster by ticket and by delegation token, and not
// without.
func TestServerKerberos(t *testing.T) {
	k := servertest.Kerberos(t)
	c := servertest.HDFS(t, servertest.HDFSOptions{Kerberos: k})
	all := content(3 << 20)
	path := c.Dir(t) + "/a"
	c.Put(t, path, all)
	uri := "webhdfs://" + c.HTTP[0] + path
	for name, o := range map[string]krb.Options{
		"keytab": {Keytab: k.Keytab, Config: k.Config},
		"ccache": {CCache: k.CCache(t, time.Hour), Config: k.Config},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, Options{Setup: secured(t, c, o)})
			obj := open(t, s, uri)
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					if err := obj.ReadAt(t.Context(), make([]byte, 1<<20), 1000); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			expect(t, obj, all, 0, len(all))
			for _, c := range s.clusters {
				for _, b := range c.bases {
					if b.auth.shown.Load() != 1 {
						t.Errorf("%d tickets were shown, where the cookie of the first serves", b.auth.shown.Load())
					}
					b.auth.cookies["hadoop.auth"].Value = "stale" // as after ten hours
				}
			}
			expect(t, obj, all, 5, 100)
		})
	}
	t.Run("no credentials", func(t *testing.T) {
		s := newStore(t, Options{Setup: configured(t, c), RetryFor: time.Second})
		_, err := s.List(t.Context(), uri)
		if !errors.Is(err, shard.ErrDenied) || !strings.Contains(err.Error(), "requires Kerberos") || !strings.Contains(err.Error(), "kinit") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("expired", func(t *testing.T) {
		cache := k.CCache(t, 2*time.Second)
		var s *Store
		var err error
		isExpired := func() bool { return err != nil && strings.Contains(err.Error(), "expired at") } // it can expire in the middle of a login
		for end := time.Now().Add(servertest.ReadyWithin); !isExpired() && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			s = newStore(t, Options{Setup: secured(t, c, krb.Options{CCache: cache, Config: k.Config})}) // it has no cookie yet
			_, err = s.List(t.Context(), uri)
		}
		if !errors.Is(err, shard.ErrDenied) || !isExpired() {
			t.Errorf("error %v", err)
		}
		k.Kinit(t, cache, time.Hour)
		expect(t, open(t, s, uri), all, 0, 10)
	})
	t.Run("unknown service", func(t *testing.T) {
		proxied := servertest.NewProxy(t, c.HTTP[0])
		_, port, _ := strings.Cut(proxied.Addr, ":")
		s := newStore(t, Options{Setup: secured(t, c, krb.Options{Keytab: k.Keytab, Config: k.Config})})
		_, err := s.List(t.Context(), "webhdfs://127.0.0.1:"+port+path)
		if !errors.Is(err, shard.ErrDenied) || !strings.Contains(err.Error(), "no such service") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("delegation token", func(t *testing.T) {
		s := newStore(t, Options{Setup: secured(t, c, krb.Options{Keytab: k.Keytab, Config: k.Config})})
		token := getToken(t, s, c.HTTP[0])
		byToken := newStore(t, Options{Setup: configured(t, c), Delegation: token})
		expect(t, open(t, byToken, uri), all, 0, len(all))
		file := filepath.Join(t.TempDir(), "container_tokens")
		if err := os.WriteFile(file, tokenStorage(t, token, c.RPC[0]), 0o600); err != nil {
			t.Fatal(err)
		}
		byFile := newStore(t, Options{Setup: configured(t, c), TokenFile: file})
		expect(t, open(t, byFile, uri), all, 0, len(all))
		other := "x"
		if token[len(token)/2] == 'x' {
			other = "y"
		}
		bad := newStore(t, Options{Setup: configured(t, c), Delegation: token[:len(token)/2] + other + token[len(token)/2+1:]})
		if _, err := bad.List(t.Context(), uri); !errors.Is(err, shard.ErrDenied) || strings.Contains(err.Error(), token[:20]) {
			t.Errorf("error %v", err)
		}
	})
}

// getToken asks a namenode for a delegation token.
func getToken(t *testing.T, s *Store, address string) string {
	t.Helper()
	_, c, err := s.cluster("webhdfs://" + address)
	if err != nil {
		t.Fatal(err)
	}
	asked := query{op: "GETDELEGATIONTOKEN", path: "/", args: url.Values{"renewer": {"alice"}}}
	body, err := ask(t.Context(), c, asked, func(body []byte) ([]byte, error) { return body, nil })
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Token struct {
			URL string `json:"urlString"`
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.Token.URL == "" {
		t.Fatalf("%s: %v", body, err)
	}
	return answer.Token.URL
}

// TestServerSecretsStay: what a failing datanode says of a redirect with a token holds no token.
func TestServerSecretsStay(t *testing.T) {
	k := servertest.Kerberos(t)
	c := servertest.HDFS(t, servertest.HDFSOptions{Kerberos: k})
	path := c.Dir(t) + "/a"
	c.Put(t, path, content(1000))
	var seen atomic.Pointer[string]
	closed := servertest.NewProxy(t, c.HTTP[0])
	closed.Down()
	s := newStore(t, Options{
		Setup:        secured(t, c, krb.Options{Keytab: k.Keytab, Config: k.Config}),
		RetryFor:     300 * time.Millisecond,
		DatanodeHost: func(host string) string { seen.Store(&host); return closed.Addr },
	})
	o := open(t, s, "webhdfs://"+c.HTTP[0]+path)
	err := o.ReadAt(t.Context(), make([]byte, 10), 0)
	if err == nil || seen.Load() == nil || !strings.Contains(err.Error(), closed.Addr) {
		t.Fatalf("error %v", err)
	}
	for _, word := range []string{"delegation", "token=", "?op="} {
		if strings.Contains(err.Error(), word) {
			t.Errorf("%q is in the error: %v", word, err)
		}
	}
}

// A gateway stands before a cluster as Knox does: below a path, with https and a password,
// following redirects itself or leading them to itself.
type gateway struct {
	*httptest.Server
	bundle string // file with its certificate
}

const gatewayPath = "/gateway/default"

func newGateway(t *testing.T, target string, toItself bool) *gateway {
	t.Helper()
	namenode := &url.URL{Scheme: "http", Host: target}
	client := &http.Transport{}
	t.Cleanup(client.CloseIdleConnections)
	g := &gateway{}
	handle := func(w http.ResponseWriter, r *http.Request) {
		if user, password, ok := r.BasicAuth(); !ok || user != "alice" || password != "wonder" {
			w.Header().Set("WWW-Authenticate", `Basic realm="gateway"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		to := *namenode
		to.Path, to.RawPath, to.RawQuery = r.URL.Path, r.URL.EscapedPath(), r.URL.RawQuery
		to.Path, to.RawPath = strings.TrimPrefix(to.Path, gatewayPath), strings.TrimPrefix(to.RawPath, gatewayPath)
		if node := r.URL.Query().Get("node"); node != "" {
			to.Host = node
		}
		answer, err := client.RoundTrip(&http.Request{Method: r.Method, URL: &to, Header: http.Header{}})
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer answer.Body.Close()
		if location, err := answer.Location(); err == nil && toItself {
			location.RawQuery += "&node=" + location.Host
			w.Header().Set("Location", g.URL+gatewayPath+location.EscapedPath()+"?"+location.RawQuery)
			w.WriteHeader(http.StatusTemporaryRedirect)
			return
		} else if err == nil {
			answer.Body.Close()
			if answer, err = client.RoundTrip(&http.Request{Method: r.Method, URL: location, Header: http.Header{}}); err != nil {
				w.WriteHeader(http.StatusBadGateway)
				return
			}
			defer answer.Body.Close()
		}
		w.WriteHeader(answer.StatusCode) // without a length, as HttpFS
		w.(http.Flusher).Flush()
		_, _ = io.Copy(w, answer.Body)
	}
	g.Server = httptest.NewTLSServer(http.HandlerFunc(handle))
	t.Cleanup(g.Close)
	g.bundle = certificate(t, g.Server.Certificate())
	return g
}

// certificate writes a certificate into a file.
func certificate(t *testing.T, c *x509.Certificate) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestServerGateway(t *testing.T) {
	c := servertest.HDFS(t, servertest.HDFSOptions{})
	dir := c.Dir(t)
	all := content(2<<20 + 3)
	c.Put(t, dir+"/odd name+é%20;=&", all)
	for _, toItself := range []bool{false, true} {
		g := newGateway(t, c.HTTP[0], toItself)
		host := strings.TrimPrefix(g.URL, "https://")
		for _, uri := range []string{"swebhdfs://" + host + gatewayPath + "/webhdfs/v1" + dir, "swebhdfs://" + host + dir} {
			o := Options{User: "alice", Password: "wonder", CABundle: g.bundle}
			if !strings.Contains(uri, gatewayPath) {
				o.Gateway = gatewayPath
			}
			s := newStore(t, o)
			sh := find(t, s, uri)
			if sh.URI != uri+"/odd name+é%20;=&" {
				t.Errorf("%s lists %s", uri, sh.URI)
			}
			obj := open(t, s, sh.URI)
			expect(t, obj, all, 0, len(all))
			expect(t, obj, all, 1, 10)
		}
		s := newStore(t, Options{User: "alice", Password: "wrong", Gateway: gatewayPath, CABundle: g.bundle})
		if _, err := s.List(t.Context(), "swebhdfs://"+host+dir); !errors.Is(err, shard.ErrDenied) || strings.Contains(err.Error(), "wrong") {
			t.Errorf("error %v", err)
		}
		s = newStore(t, Options{Gateway: gatewayPath, RetryFor: time.Second})
		if _, err := s.List(t.Context(), "swebhdfs://"+host+dir); !errors.Is(err, shard.ErrDenied) || !strings.Contains(err.Error(), "certificate") {
			t.Errorf("error %v without its certificate", err)
		}
		s = newStore(t, Options{Gateway: "/elsewhere", User: "alice", Password: "wonder", CABundle: g.bundle})
		if _, err := s.List(t.Context(), "swebhdfs://"+host+dir); !errors.Is(err, errNoAPI) {
			t.Errorf("error %v of a path that serves something else", err)
		}
	}
}

// TestServerDowngrade: a redirect from https to http is not followed.
func TestServerDowngrade(t *testing.T) {
	c := servertest.HDFS(t, servertest.HDFSOptions{})
	path := c.Dir(t) + "/a"
	c.Put(t, path, content(10))
	front := httptest.NewTLSServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: c.HTTP[0]}) },
	})
	defer front.Close()
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	s := newStore(t, Options{CABundle: certificate(t, front.Certificate())})
	o := open(t, s, "swebhdfs://"+strings.TrimPrefix(front.URL, "https://")+path)
	if err := o.ReadAt(t.Context(), make([]byte, 10), 0); !errors.Is(err, shard.ErrDenied) || !strings.Contains(err.Error(), "from https to http") {
		t.Errorf("error %v", err)
	}
}
