package servertest

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// HDFSOptions chooses a cluster. The zero value is one namenode and three datanodes, shared.
type HDFSOptions struct {
	Datanodes int               // 0: three
	HA        bool              // two namenodes with shared edits, as nameservice "mini"
	Kerberos  *KDC              // secure daemons, that clients reach as localhost
	Conf      map[string]string // keys of Hadoop, for the daemons and for the clients alike
	Own       bool              // a cluster for only this test
	Proxied   bool              // with a proxy before each daemon, which clients are sent to; such a cluster is a test's own
}

// A Cluster is real HDFS on loopback: blocks of 1 MiB and two replicas where Conf and Put say
// nothing else, no permissions checked. The one JVM that runs the daemons takes one command at a
// time; the methods are safe for concurrent use.
type Cluster struct {
	ConfDir   string   // for HADOOP_CONF_DIR
	URI       string   // hdfs://host:port, or hdfs://mini with HA
	RPC, HTTP []string // host:port of each namenode

	Proxies *Proxies // nil unless requested

	talk *conversation
}

// clusters holds the shared clusters of the process, by their options.
var clusters pool[string, *Cluster]

// HDFS returns a cluster as the options have it. All daemons of a shared one are up: what another
// test has killed is started.
func HDFS(t testing.TB, o HDFSOptions) *Cluster {
	t.Helper()
	program := Need(t, "hdfsmini")
	if o.Datanodes == 0 {
		o.Datanodes = 3
	}
	start := func() (*Cluster, error) {
		return retry(func() (*Cluster, error) { return startHDFS(program, o) })
	}
	if !o.Own && !o.Proxied {
		return sharedHDFS(t, fmt.Sprintf("%+v", o), start)
	}
	c, err := start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.stop)
	return c
}

// sharedHDFS returns the cluster of a key with all daemons up. A cluster that a test left in a
// broken state is replaced once, so that one failure does not fail all later tests.
func sharedHDFS(t testing.TB, key string, start func() (*Cluster, error)) *Cluster {
	t.Helper()
	c := clusters.get(t, key, start)
	_, err := c.Ask("startall")
	if err == nil {
		return c
	}
	t.Logf("the shared cluster is replaced: %v", err)
	if clusters.drop(key, c) {
		c.stop()
	}
	c = clusters.get(t, key, start)
	c.Command(t, "startall")
	return c
}

func (c *Cluster) stop() {
	c.talk.stop()
	c.Proxies.close()
}

func (o HDFSOptions) conf() map[string]string {
	conf := map[string]string{}
	if o.HA {
		conf["mini.ha"] = "true"
	}
	if o.Proxied {
		conf["mini.datanode.bind"] = behind
	}
	if o.Kerberos != nil {
		maps.Copy(conf, o.Kerberos.hadoop())
	}
	maps.Copy(conf, o.Conf)
	return conf
}

func startHDFS(program string, o HDFSOptions) (*Cluster, error) {
	root, err := newRoot("hdfs")
	if err != nil {
		return nil, err
	}
	conf := o.conf()
	args := []string{program, data(root), strconv.Itoa(o.Datanodes)}
	for _, key := range slices.Sorted(maps.Keys(conf)) {
		args = append(args, key+"="+conf[key])
	}
	var env []string
	if o.Kerberos != nil {
		env = o.Kerberos.javaEnv()
	}
	talk, err := converse(root, env, args...)
	if err != nil {
		return nil, err
	}
	c := &Cluster{ConfDir: filepath.Join(root, "conf"), talk: talk}
	if err := c.introduce(o, conf); err != nil {
		c.stop()
		return nil, fmt.Errorf("hdfs: %w", err)
	}
	return c, nil
}

// introduce waits for the cluster's first line and writes what clients need to know.
func (c *Cluster) introduce(o HDFSOptions, conf map[string]string) error {
	line, err := c.talk.line()
	if err != nil {
		return err
	}
	words := strings.Fields(line)
	if len(words) != 3 || words[0] != "READY" {
		return fmt.Errorf("unexpected greeting %q", line)
	}
	c.RPC, c.HTTP = strings.Split(words[1], ","), strings.Split(words[2], ",")
	if o.Proxied {
		if err := c.interpose(); err != nil {
			return err
		}
	}
	c.URI = "hdfs://" + c.RPC[0]
	if len(c.RPC) > 1 {
		c.URI = "hdfs://" + nameservice
	}
	return c.writeConf(conf)
}

// nameservice is the name of a pair of namenodes.
const nameservice = "mini"

func (c *Cluster) writeConf(given map[string]string) error {
	hdfs := map[string]string{}
	for key, value := range given {
		if !strings.HasPrefix(key, "mini.") {
			hdfs[key] = value
		}
	}
	if len(c.RPC) == 1 {
		hdfs["dfs.namenode.rpc-address"], hdfs["dfs.namenode.http-address"] = c.RPC[0], c.HTTP[0]
	} else {
		hdfs["dfs.nameservices"], hdfs["dfs.ha.namenodes."+nameservice] = nameservice, "nn0,nn1"
		hdfs["dfs.client.failover.proxy.provider."+nameservice] = "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider"
		for i := range c.RPC {
			end := fmt.Sprintf(".%s.nn%d", nameservice, i)
			hdfs["dfs.namenode.rpc-address"+end], hdfs["dfs.namenode.http-address"+end] = c.RPC[i], c.HTTP[i]
		}
	}
	return errors.Join(
		os.Mkdir(c.ConfDir, 0o755),
		writeSite(filepath.Join(c.ConfDir, "core-site.xml"), map[string]string{"fs.defaultFS": c.URI}),
		writeSite(filepath.Join(c.ConfDir, "hdfs-site.xml"), hdfs))
}

func writeSite(path string, conf map[string]string) error {
	var text strings.Builder
	text.WriteString("<?xml version=\"1.0\"?>\n<configuration>\n")
	escape := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	for _, key := range slices.Sorted(maps.Keys(conf)) {
		fmt.Fprintf(&text, "  <property><name>%s</name><value>%s</value></property>\n", key, escape.Replace(conf[key]))
	}
	text.WriteString("</configuration>\n")
	return os.WriteFile(path, []byte(text.String()), 0o644)
}
