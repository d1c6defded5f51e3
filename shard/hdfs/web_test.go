package hdfs

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/servertest"
	"github.com/shardfeed/shardfeed/shard"
)

// noWeb hides the namenode's HTTP address behind a closed port.
func noWeb(o Options) Options {
	o.WebHDFS = ""
	o.Conf = map[string]string{"dfs.webhdfs.enabled": "false"}
	return o
}

// TestServerErasureCoded reads striped files, which the native way cannot, through WebHDFS; with a
// datanode gone, too.
func TestServerErasureCoded(t *testing.T) {
	c := servertest.HDFS(t, servertest.HDFSOptions{})
	dir := c.Dir(t)
	c.Command(t, "ec "+dir+" XOR-2-1-1024k")
	all := content(1, 5<<20+321)
	c.Put(t, dir+"/x", all)
	var mu sync.Mutex
	var warnings []string
	options := serverOptions(c)
	options.Events.Warn = func(text string) {
		mu.Lock()
		defer mu.Unlock()
		warnings = append(warnings, text)
	}
	s := newStore(t, options)
	read := func(s *Store) error {
		o := openOne(t, s, c.URI+dir+"/x")
		var errs []error
		for _, r := range [][2]int{{0, len(all)}, {1, 10}, {1<<20 - 5, 10}, {3 << 20, 2<<20 + 321}} {
			errs = append(errs, expect(t, o, all, r[0], r[1]))
		}
		return errors.Join(errs...)
	}
	if err := read(s); err != nil {
		t.Error(err)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "erasure-coded") {
		t.Errorf("warnings %q", warnings)
	}
	p, err := s.Place(t.Context(), one(t, s, c.URI+dir+"/x"))
	if err != nil || p.Policy != "XOR-2-1-1024k" || p.Replication != 0 || p.Encrypted {
		t.Errorf("%+v, %v", p, err)
	}
	c.KillDatanode(t, 1)
	if err := read(s); err != nil {
		t.Errorf("a datanode is gone: %v", err)
	}
	err = read(newStore(t, noWeb(serverOptions(c))))
	if err == nil || !strings.Contains(err.Error(), "cannot be read natively") || !strings.Contains(err.Error(), "hdfs.webhdfs") {
		t.Errorf("without WebHDFS: %v", err)
	}
	if n := s.Traffic().Reads; n != 0 {
		t.Errorf("%d blocks were asked for natively", n)
	}
}

func TestServerPlace(t *testing.T) {
	c := servertest.HDFS(t, servertest.HDFSOptions{})
	path := c.Dir(t) + "/x"
	c.Put(t, path, content(1, 2<<20+7), "replication=2")
	s := newStore(t, serverOptions(c))
	sh := one(t, s, c.URI+path)
	p, err := s.Place(t.Context(), sh)
	if err != nil {
		t.Fatal(err)
	}
	if p.BlockSize != 1<<20 || p.Replication != 2 || p.Policy != "" || p.Encrypted || len(p.Blocks) != 3 {
		t.Errorf("%+v", p)
	}
	for i, b := range p.Blocks {
		if b.Off != int64(i)<<20 || b.N != min(1<<20, sh.Size-b.Off) || len(b.Hosts) != 2 {
			t.Errorf("block %d: %+v", i, b)
		}
	}
	if n := s.Traffic().Reads; n != 0 {
		t.Errorf("%d datanodes were asked", n)
	}
	c.Put(t, path, content(2, 10))
	if _, err := s.Place(t.Context(), sh); !errors.Is(err, shard.ErrChanged) {
		t.Errorf("of an old version: %v", err)
	}
	c.Remove(t, path)
	if _, err := s.Place(t.Context(), sh); !errors.Is(err, shard.ErrNotExist) {
		t.Errorf("of no file: %v", err)
	}
}

func TestServerExplain(t *testing.T) {
	c := servertest.HDFS(t, servertest.HDFSOptions{})
	s := newStore(t, serverOptions(c))
	facts, err := s.Explain(t.Context(), "hdfs:///dir/x")
	if err != nil {
		t.Fatal(err)
	}
	value := func(name string) string {
		i := slices.IndexFunc(facts, func(f shard.Fact) bool { return f.Name == name })
		if i < 0 {
			return ""
		}
		return facts[i].Value
	}
	for name, want := range map[string]string{
		"configuration": c.ConfDir, "user": "root, without Kerberos", "path": "/dir/x of " + c.RPC[0], "namenodes": c.RPC[0],
		"webhdfs": "http://" + c.HTTP[0], "namenode": "answered within", "verification": "each packet",
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(value(name), want) {
				t.Errorf("%q, want %q", value(name), want)
			}
		})
	}
	for uri, want := range map[string]string{"hdfs://nosuchhost.invalid/x": "does not answer", "viewfs://none/x": "mount table", "s3://b/x": "neither"} {
		t.Run(uri, func(t *testing.T) {
			facts, err := s.Explain(t.Context(), uri)
			if err != nil || !strings.Contains(facts[len(facts)-1].Value+facts[max(0, len(facts)-2)].Value, want) {
				t.Errorf("%v, %v", facts, err)
			}
		})
	}
	wrong := serverOptions(c)
	wrong.ConfDir = "/no/such/directory"
	if facts, err := newStore(t, wrong).Explain(t.Context(), "hdfs:///x"); err != nil || len(facts) != 1 || !strings.Contains(facts[0].Value, "/no/such") {
		t.Errorf("a wrong directory: %v, %v", facts, err)
	}
}

// TestServerViewfs reads and lists through a mount table that leads to two directories.
func TestServerViewfs(t *testing.T) {
	c := servertest.HDFS(t, servertest.HDFSOptions{})
	dir := c.Dir(t)
	all := content(1, 1000)
	c.Put(t, dir+"/one/dt=1/a.parquet", all)
	c.Put(t, dir+"/two/b.parquet", all)
	o := serverOptions(c)
	o.Conf = map[string]string{
		"fs.viewfs.mounttable.data.link./tables/one": c.URI + dir + "/one",
		"fs.viewfs.mounttable.data.link./tables/two": c.URI + dir + "/two",
	}
	s := newStore(t, o)
	for address, want := range map[string]string{
		"viewfs://data/tables":               "viewfs://data/tables/one/dt=1/a.parquet viewfs://data/tables/two/b.parquet",
		"viewfs://data/":                     "viewfs://data/tables/one/dt=1/a.parquet viewfs://data/tables/two/b.parquet",
		"viewfs://data/tables/*/*.parquet":   "viewfs://data/tables/two/b.parquet",
		"viewfs://data/tables/**/*.parquet":  "viewfs://data/tables/one/dt=1/a.parquet viewfs://data/tables/two/b.parquet",
		"viewfs://data/tables/one/dt=1":      "viewfs://data/tables/one/dt=1/a.parquet",
		"viewfs://data/tables/two/b.parquet": "viewfs://data/tables/two/b.parquet",
	} {
		t.Run(address, func(t *testing.T) {
			found, err := s.List(t.Context(), address)
			var got []string
			for _, f := range found {
				got = append(got, f.URI)
			}
			if err != nil || strings.Join(got, " ") != want {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
	if err := expect(t, openOne(t, s, "viewfs://data/tables/two/b.parquet"), all, 0, 1000); err != nil {
		t.Error(err)
	}
	if id := s.Identity("viewfs://data/tables/two/b.parquet"); id != "hdfs://"+c.RPC[0]+dir+"/two/b.parquet" {
		t.Errorf("identity %s", id)
	}
	for _, address := range []string{"viewfs://data/tables/three", "viewfs://data/elsewhere/x"} {
		if found, err := s.List(t.Context(), address); !errors.Is(err, shard.ErrNotExist) {
			t.Errorf("%s: %v, %v", address, found, err)
		}
	}
}

// TestServerPorts: an address of the wrong port, or of no host, says so at once.
func TestServerPorts(t *testing.T) {
	c := servertest.HDFS(t, servertest.HDFSOptions{})
	s := newStore(t, serverOptions(c))
	start := time.Now()
	_, err := s.List(t.Context(), "hdfs://"+c.HTTP[0]+"/x")
	if !errors.Is(err, shard.ErrBadURI) || !strings.Contains(err.Error(), "port for RPC") || time.Since(start) > time.Minute {
		t.Errorf("%v after %v", err, time.Since(start))
	}
	start = time.Now()
	_, err = s.List(t.Context(), "hdfs://nosuchhost.invalid/x")
	if !errors.Is(err, shard.ErrTransient) || !strings.Contains(err.Error(), "HADOOP_CONF_DIR") || time.Since(start) > 45*time.Second {
		t.Errorf("%v after %v", err, time.Since(start))
	}
}
