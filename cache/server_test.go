package cache

import (
	"bytes"
	"errors"
	"path"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/internal/servertest"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/hdfs"
	"github.com/shardfeed/shardfeed/shard/s3"
	"github.com/shardfeed/shardfeed/shard/shardtest"
)

// remote is a place on a real server behind a cache.
type remote struct {
	store   shard.Store
	root    string // address
	put     func(t testing.TB, name string, content []byte)
	remove  func(t testing.TB, name string)
	illegal string // a character that no name may have
}

func (r *remote) Store() shard.Store                        { return r.store }
func (r *remote) Remove(t testing.TB, name string)          { r.remove(t, name) }
func (r *remote) Write(t testing.TB, name string, b []byte) { r.put(t, name, b) }

func (r *remote) Legal(name string) bool {
	return r.illegal == "" || !strings.Contains(name, r.illegal)
}

func (r *remote) Address(name string) string {
	if name == "" {
		return r.root
	}
	return r.root + "/" + name
}

// bucketFixture is a bucket behind a cache.
func bucketFixture(t *testing.T, server *servertest.S3Server) *remote {
	inner := s3.New(s3.Options{EndpointURL: server.Endpoint, Key: server.Key, Secret: server.Secret, Region: server.Region})
	t.Cleanup(func() {
		if err := inner.Close(); err != nil {
			t.Error(err)
		}
	})
	bucket, written := server.Bucket(t), map[string]bool{}
	return &remote{
		store: openTest(t, Options{}).Wrap(inner), root: "s3://" + bucket,
		put: func(t testing.TB, name string, content []byte) {
			if dir, _ := path.Split(name); written[strings.TrimSuffix(dir, "/")] {
				return // below a name that is an object: the server keeps keys as files
			}
			written[name] = true
			server.Put(t, bucket, name, content)
		},
		remove: func(t testing.TB, name string) { server.Remove(t, bucket, name) },
	}
}

func TestServerSuiteS3(t *testing.T) {
	server := servertest.S3(t)
	shardtest.Run(t, func(t *testing.T) shardtest.Fixture { return bucketFixture(t, server) })
}

// TestServerSuiteHDFS runs the suite on the native protocol and on the one over HTTP.
func TestServerSuiteHDFS(t *testing.T) {
	c := servertest.HDFS(t, servertest.HDFSOptions{})
	for _, way := range []struct {
		name string
		uri  string
		of   func(s *hdfs.Store) shard.Store
	}{
		{"hdfs", c.URI, func(s *hdfs.Store) shard.Store { return s }},
		{"webhdfs", "webhdfs://" + c.HTTP[0], func(s *hdfs.Store) shard.Store { return s.WebHDFS() }},
	} {
		t.Run(way.name, func(t *testing.T) {
			shardtest.Run(t, func(t *testing.T) shardtest.Fixture {
				inner := hdfs.New(hdfs.Options{ConfDir: c.ConfDir, User: "root", Getenv: func(string) string { return "" }})
				t.Cleanup(func() {
					if err := inner.Close(); err != nil {
						t.Error(err)
					}
				})
				dir := c.Dir(t)
				return &remote{
					store: openTest(t, Options{}).Wrap(way.of(inner)), root: way.uri + dir, illegal: ":",
					put: func(t testing.TB, name string, content []byte) {
						if name != "d/1/1" { // a directory named like a file
							c.Put(t, dir+"/"+name, content)
						}
					},
					remove: func(t testing.TB, name string) { c.Remove(t, dir+"/"+name) },
				}
			})
		})
	}
}

// TestServerGone: what is held of a bucket is read when no server answers any more, and what is not
// is the store's error. An object that was overwritten is fetched at its new version, and held
// beside the old one.
func TestServerGone(t *testing.T) {
	server := servertest.S3(t)
	bucket := server.Bucket(t)
	c := openTest(t, Options{})
	read := func(endpoint string, s shard.Shard, want []byte, n int) error {
		inner := s3.New(s3.Options{EndpointURL: endpoint, Key: server.Key, Secret: server.Secret, Region: server.Region})
		defer inner.Close()
		o, err := c.Wrap(inner).Open(t.Context(), s)
		if err != nil {
			return err
		}
		defer o.Close()
		p := make([]byte, n)
		if err := shard.ReadRanges(t.Context(), o, []shard.Range{{P: p}}); err != nil {
			return err
		}
		if !bytes.Equal(p, want[:n]) {
			t.Error("wrong bytes")
		}
		return nil
	}
	list := func() shard.Shard {
		inner := s3.New(s3.Options{EndpointURL: server.Endpoint, Key: server.Key, Secret: server.Secret, Region: server.Region})
		defer inner.Close()
		return listOne(t, inner, "s3://"+bucket+"/a")
	}
	first, second := random(1, 300_000), random(2, 300_000)
	server.Put(t, bucket, "a", first)
	old := list()
	if err := read(server.Endpoint, old, first, 200_000); err != nil {
		t.Fatal(err)
	}
	settle(t, c)
	server.Put(t, bucket, "a", second)
	if err := read(server.Endpoint, old, first, 300_000); !errors.Is(err, shard.ErrChanged) {
		t.Errorf("the rest of an object that was overwritten: %v", err)
	}
	if err := read(server.Endpoint, list(), second, 300_000); err != nil {
		t.Error(err)
	}
	settle(t, c)
	const nobody = "http://127.0.0.1:1"
	if err := read(nobody, old, first, 200_000); err != nil {
		t.Errorf("what is held of the old version: %v", err)
	}
	if err := read(nobody, old, first, 200_001); err == nil {
		t.Error("what is not held is read without a server")
	}
}
