package servertest

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// get reads a file by WebHDFS, or says with what status it could not.
func get(t *testing.T, address, path string) (content []byte, status int) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: ReadyWithin}
	u := url.URL{Scheme: "http", Host: address, Path: "/webhdfs/v1" + path, RawQuery: "op=OPEN"}
	resp, err := client.Get(u.String())
	if err != nil {
		t.Logf("%s: %v", path, err)
		return nil, 0
	}
	defer resp.Body.Close()
	if content, err = io.ReadAll(resp.Body); err != nil {
		t.Logf("%s: %v", path, err)
		return nil, 0
	}
	return content, resp.StatusCode
}

// pattern is size bytes of which no two blocks are alike.
func pattern(size int) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(i ^ i>>8 ^ i>>16)
	}
	return b
}

func TestServerHDFS(t *testing.T) {
	c := HDFS(t, HDFSOptions{})
	dir := c.Dir(t)
	want := pattern(300_000)
	path := dir + "/dt=2026-01-01/part 1+é.parquet"
	c.Put(t, path, want, "blocksize=65536", "replication=3")
	if got, status := get(t, c.HTTP[0], path); !bytes.Equal(got, want) {
		t.Errorf("status %d and %d bytes, want %d", status, len(got), len(want))
	}
	blocks := c.Blocks(t, path)
	if len(blocks) != 5 || blocks[0].Size != 65536 || len(blocks[4].Nodes) != 3 {
		t.Errorf("blocks %+v", blocks)
	}
	for node := range 3 {
		c.FlipBlock(t, node, blocks[2].Name, 100)
	}
	if got, status := get(t, c.HTTP[0], path); bytes.Equal(got, want) {
		t.Errorf("status %d and the right bytes out of blocks that are all hurt", status)
	}
	c.Remove(t, path)
	if _, status := get(t, c.HTTP[0], path); status != http.StatusNotFound {
		t.Errorf("status %d after it was removed", status)
	}
	if _, err := c.Ask("blocks " + path); err == nil || !strings.HasPrefix(err.Error(), "ERR ") || strings.Contains(err.Error(), "\n") {
		t.Errorf("blocks of nothing: error %v", err)
	}
	site, err := os.ReadFile(filepath.Join(c.ConfDir, "hdfs-site.xml"))
	if err != nil || !strings.Contains(string(site), "<value>"+c.RPC[0]+"</value>") {
		t.Errorf("hdfs-site.xml: %v %s", err, site)
	}
}

// TestServerHDFSReplaced: a shared cluster that answers no more is not that of the tests after.
func TestServerHDFSReplaced(t *testing.T) {
	o := HDFSOptions{Datanodes: 1}
	lost := HDFS(t, o)
	if answer, err := lost.Ask("quit"); err == nil {
		t.Fatalf("%q of a cluster that ended", answer)
	}
	c := HDFS(t, o)
	if c == lost || HDFS(t, o) != c {
		t.Error("it is not replaced by one other")
	}
	c.Put(t, c.Dir(t)+"/a", pattern(1000), "replication=1")
	if _, err := os.Stat(lost.talk.root); !os.IsNotExist(err) {
		t.Errorf("files of the one that was lost are left: %v", err)
	}
}

// TestServerHDFSLateReport: a datanode whose report of its blocks would come in minutes is asked
// for it.
func TestServerHDFSLateReport(t *testing.T) {
	c := HDFS(t, HDFSOptions{Datanodes: 1, Own: true, Conf: map[string]string{"dfs.blockreport.initialDelay": "600"}})
	c.Put(t, c.Dir(t)+"/a", pattern(1000), "replication=1")
	c.KillDatanode(t, 0)
	c.StartDatanode(t, 0)
}

func TestServerHDFSDatanodes(t *testing.T) {
	c := HDFS(t, HDFSOptions{})
	path := c.Dir(t) + "/a"
	want := pattern(100_000)
	c.Put(t, path, want, "replication=1")
	node := c.Blocks(t, path)[0].Nodes[0]
	c.KillDatanode(t, node)
	if got, status := get(t, c.HTTP[0], path); bytes.Equal(got, want) {
		t.Errorf("status %d and all bytes with their only datanode dead", status)
	}
	c.StartDatanode(t, node)
	if got, status := get(t, c.HTTP[0], path); !bytes.Equal(got, want) {
		t.Errorf("status %d and %d bytes when it is back", status, len(got))
	}
	c.KillDatanode(t, node)
	if HDFS(t, HDFSOptions{}) != c {
		t.Error("the second cluster is another")
	}
	if got, status := get(t, c.HTTP[0], path); !bytes.Equal(got, want) {
		t.Errorf("status %d and %d bytes when the cluster was asked for again", status, len(got))
	}
}

func TestServerHDFSHA(t *testing.T) {
	c := HDFS(t, HDFSOptions{HA: true})
	dir := c.Dir(t)
	for round := range 4 {
		path := dir + "/" + string(rune('a'+round))
		want := pattern(10_000 + round)
		c.Put(t, path, want)
		active := c.Command(t, "active")
		c.Command(t, "failover")
		now := c.Command(t, "active")
		if active == now {
			t.Fatalf("round %d: namenode %s is active after a failover", round, now)
		}
		if got, status := get(t, c.HTTP[now[0]-'0'], path); !bytes.Equal(got, want) {
			t.Errorf("round %d: status %d and %d bytes", round, status, len(got))
		}
		if _, status := get(t, c.HTTP[active[0]-'0'], path); status != http.StatusForbidden {
			t.Errorf("round %d: status %d from the standby", round, status)
		}
	}
}

// TestServerHDFSOwn: a cluster of a test's own is gone when the test ends, and its files with it.
func TestServerHDFSOwn(t *testing.T) {
	Need(t, "hdfsmini") // where it is absent, all of this test is skipped and not the part within alone
	var c *Cluster
	t.Run("within", func(t *testing.T) {
		c = HDFS(t, HDFSOptions{Datanodes: 1, Own: true, Conf: map[string]string{"dfs.replication": "1"}})
		c.Put(t, "/a", []byte("a"))
		c.Command(t, "killnn")
		if _, status := get(t, c.HTTP[0], "/a"); status != 0 {
			t.Errorf("status %d from a namenode that was killed", status)
		}
		c.Command(t, "startnn")
		if got, _ := get(t, c.HTTP[0], "/a"); string(got) != "a" {
			t.Errorf("%q after the namenode's restart", got)
		}
	})
	for end := time.Now().Add(ReadyWithin); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(c.talk.root); err != nil {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%s is left behind", c.talk.root)
		}
	}
	if _, err := c.Ask("active"); err == nil {
		t.Error("the cluster answers after its test")
	}
}

// TestServerHDFSProxied: what clients and datanodes say to each other goes through the proxies.
func TestServerHDFSProxied(t *testing.T) {
	c := HDFS(t, HDFSOptions{Proxied: true})
	want := pattern(1 << 20)
	c.Put(t, "/a", want, "replication=3")
	written := 0
	for _, p := range c.Proxies.Datanodes {
		written += p.Connections()
	}
	if written != 3 {
		t.Errorf("%d connections for a block on three datanodes", written)
	}
	if got, status := get(t, c.HTTP[0], "/a"); !bytes.Equal(got, want) {
		t.Errorf("status %d and %d bytes", status, len(got))
	}
	for _, p := range c.Proxies.DatanodeGateways {
		p.Set(Faults{CutAfter: 100_000})
	}
	if _, status := get(t, c.HTTP[0], "/a"); status != 0 {
		t.Errorf("status %d and no error of an answer that was cut", status)
	}
	c.Proxies.HTTP[0].Down()
	if _, status := get(t, c.HTTP[0], "/a"); status != 0 {
		t.Errorf("status %d of a namenode that is down", status)
	}
}
