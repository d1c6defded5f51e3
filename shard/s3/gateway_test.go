package s3

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/shardfeed/shardfeed/internal/servertest"
	"github.com/shardfeed/shardfeed/shard"
)

// A cacheGateway is what caches put before S3. It checks no signature, may lie below a path, and
// may redirect reads to the node that holds the object.
type cacheGateway struct {
	server   *servertest.S3Server
	path     string // before the bucket
	redirect string // the node's address; "" is this server

	requests, redirected, unversioned atomic.Int64
}

func (g *cacheGateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.requests.Add(1)
	rest, ok := strings.CutPrefix(r.URL.Path, g.path)
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	isRead := r.Method == http.MethodGet && r.Header.Get("Range") != ""
	if isRead && g.redirect != "" {
		g.redirected.Add(1)
		http.Redirect(w, r, g.redirect+r.URL.RequestURI(), http.StatusTemporaryRedirect)
		return
	}
	if isRead && r.Header.Get("If-Match") == "" {
		g.unversioned.Add(1)
	}
	g.forward(w, r, rest)
}

// forward asks the S3 server, with a signature of its own.
func (g *cacheGateway) forward(w http.ResponseWriter, r *http.Request, path string) {
	req, err := http.NewRequestWithContext(r.Context(), r.Method, g.server.Endpoint+path+"?"+r.URL.RawQuery, nil)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	for _, name := range []string{"Range", "If-Match"} {
		if value := r.Header.Get(name); value != "" {
			req.Header.Set(name, value)
		}
	}
	const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	req.Header.Set("X-Amz-Content-Sha256", empty)
	key := aws.Credentials{AccessKeyID: g.server.Key, SecretAccessKey: g.server.Secret}
	if err := v4.NewSigner().SignHTTP(r.Context(), key, req, empty, "s3", g.server.Region, time.Now()); err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	answer, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer answer.Body.Close()
	for name, values := range answer.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.StatusCode)
	io.Copy(w, answer.Body) // a client that went away needs no answer
}

// Lists and reads work below a path and through redirects, which add a request to each read. The
// node that answers checks the version.
func TestCacheGateways(t *testing.T) {
	server := servertest.S3(t)
	bucket := server.Bucket(t)
	content := bytes.Repeat([]byte("0123456789abcdef"), 1<<12)
	for _, name := range []string{"table/a.parquet", "table/b.parquet"} {
		server.Put(t, bucket, name, content)
	}
	for _, c := range []struct {
		name, path string
		redirects  bool
	}{{"a path", "/api/v1/s3", false}, {"redirects", "", true}, {"both", "/s3", true}} {
		t.Run(c.name, func(t *testing.T) {
			node := &cacheGateway{server: server, path: c.path}
			target := httptest.NewServer(node)
			defer target.Close()
			front := &cacheGateway{server: server, path: c.path}
			if c.redirects {
				front.redirect = target.URL
			}
			first := httptest.NewServer(front)
			defer first.Close()
			store := newStore(t, Options{EndpointURL: first.URL + c.path, Key: "k", Secret: "s", Region: server.Region})
			shards, err := store.List(t.Context(), "s3://"+bucket+"/table/")
			if err != nil || len(shards) != 2 || shards[1].Version == "" || shards[1].Size != int64(len(content)) {
				t.Fatalf("%v, %v", shards, err)
			}
			for _, s := range shards {
				readThrough(t, store, s, content)
			}
			reads := int64(2)
			if !c.redirects {
				reads = 0
			}
			if n := front.redirected.Load(); n != reads || node.requests.Load() != reads || front.unversioned.Load()+node.unversioned.Load() > 0 {
				t.Errorf("%d redirects, %d requests of the node, %d and %d reads without If-Match",
					n, node.requests.Load(), front.unversioned.Load(), node.unversioned.Load())
			}
			changed := shards[0]
			changed.Version = `"00000000000000000000000000000000"`
			o, err := store.Open(t.Context(), changed)
			if err != nil {
				t.Fatal(err)
			}
			defer o.Close()
			if err := o.ReadAt(t.Context(), make([]byte, 100), 1000); err == nil {
				t.Error("another version was read")
			}
		})
	}
}

// readThrough reads a range of a shard.
func readThrough(t *testing.T, store shard.Store, s shard.Shard, content []byte) {
	t.Helper()
	o, err := store.Open(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	got := make([]byte, 5000)
	if err := o.ReadAt(t.Context(), got, 1234); err != nil || !bytes.Equal(got, content[1234:6234]) {
		t.Errorf("%s: %v", s.URI, err)
	}
}
