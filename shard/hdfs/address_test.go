package hdfs

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/shard"
)

// offline is a store that is never asked to connect.
func offline(t *testing.T, keys map[string]string, env map[string]string) *Store {
	return newStore(t, Options{Conf: keys, Getenv: func(key string) string { return env[key] }})
}

var pair = map[string]string{
	"fs.defaultFS": "hdfs://ns", "dfs.nameservices": "ns", "dfs.ha.namenodes.ns": "a,b",
	"dfs.namenode.rpc-address.ns.a": "nn1:8020", "dfs.namenode.rpc-address.ns.b": "nn2", "fs.viewfs.mounttable.v.link./data": "hdfs://ns/warehouse",
}

func TestLocate(t *testing.T) {
	for _, c := range []struct{ uri, cluster, path, rpc string }{
		{"hdfs://ns/a/b", "ns", "/a/b", "nn1:8020 nn2:8020"},
		{"hdfs:///a/b", "ns", "/a/b", "nn1:8020 nn2:8020"},
		{"HDFS://ns/a//b/", "ns", "/a/b", "nn1:8020 nn2:8020"},
		{"hdfs://ns", "ns", "/", "nn1:8020 nn2:8020"},
		{"hdfs://host.example/a", "host.example:8020", "/a", "host.example:8020"},
		{"hdfs://host.example:8020/a", "host.example:8020", "/a", "host.example:8020"},
		{"hdfs://host.example:9000/a%20b?c#d", "host.example:9000", "/a%20b?c#d", "host.example:9000"},
		{"viewfs://v/data/x", "ns", "/warehouse/x", "nn1:8020 nn2:8020"},
	} {
		t.Run(c.uri, func(t *testing.T) {
			s := offline(t, pair, nil)
			p, err := s.locate(c.uri)
			if err != nil {
				t.Errorf("%v", err)
				return
			}
			if p.cluster.ns.Name != c.cluster || p.path != c.path || strings.Join(p.cluster.ns.RPC, " ") != c.rpc {
				t.Errorf("%s of %s, %v", p.path, p.cluster.ns.Name, p.cluster.ns.RPC)
			}
			if id := s.Identity(c.uri); id != "hdfs://"+c.cluster+c.path {
				t.Errorf("identity %s", id)
			}
		})
	}
}

func TestBadAddresses(t *testing.T) {
	for _, c := range []struct {
		uri  string
		kind error
		want string
	}{
		{"s3://b/x", shard.ErrBadURI, "neither hdfs:// nor viewfs://"},
		{"hdfs://nz/x", shard.ErrBadURI, `no nameservice "nz", only ns`},
		{"viewfs://w/x", shard.ErrBadURI, "no mount table"},
		{"viewfs://v/elsewhere", shard.ErrNotExist, "/elsewhere"},
	} {
		t.Run(c.uri, func(t *testing.T) {
			s := offline(t, pair, nil)
			_, err := s.List(t.Context(), c.uri)
			_, err2 := s.Open(t.Context(), shard.Shard{URI: c.uri, Size: 1})
			for _, err := range []error{err, err2} {
				if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) && !errors.Is(c.kind, shard.ErrNotExist) {
					t.Errorf("%v", err)
				}
			}
			if id := s.Identity(c.uri); id != c.uri {
				t.Errorf("identity %s", id)
			}
		})
	}
	if _, err := offline(t, nil, nil).List(t.Context(), "hdfs:///x"); !errors.Is(err, shard.ErrBadURI) {
		t.Errorf("no default: %v", err)
	}
}

func TestSetup(t *testing.T) {
	dir := t.TempDir()
	const site = `<configuration><property><name>fs.defaultFS</name><value>hdfs://fromdir</value></property></configuration>`
	if err := os.WriteFile(filepath.Join(dir, "core-site.xml"), []byte(site), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name     string
		options  Options
		env      map[string]string
		user, fs string
	}{
		{"environment", Options{}, map[string]string{"HADOOP_CONF_DIR": dir, "HADOOP_USER_NAME": "eve"}, "eve", "hdfs://fromdir"},
		{"options win", Options{ConfDir: dir, User: "amy", Conf: map[string]string{"fs.defaultFS": "hdfs://x"}}, map[string]string{"HADOOP_CONF_DIR": "/none", "HADOOP_USER_NAME": "eve"}, "amy", "hdfs://x"},
		{"nothing", Options{User: "amy"}, nil, "amy", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.options.Getenv = func(key string) string { return c.env[key] }
			s, err := newSetup(c.options)
			if err != nil || s.user != c.user || s.conf.DefaultFS() != c.fs || s.kerberos != nil {
				t.Errorf("%+v, %v", s, err)
			}
		})
	}
	for _, c := range []struct {
		name    string
		options Options
		want    string
	}{
		{"no such directory", Options{ConfDir: filepath.Join(dir, "none")}, "none"},
		{"bad options", Options{Slots: -1}, "negative"},
		{"no principal", Options{Conf: map[string]string{"hadoop.security.authentication": "kerberos"}}, "dfs.namenode.kerberos.principal"},
		{"keytab, no principal", Options{Keytab: "/k"}, "dfs.namenode.kerberos.principal"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.options.Getenv = func(string) string { return "" }
			s, err := newSetup(c.options)
			if err == nil { // WebHDFS needs no more
				err = s.native()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
	for want, keys := range map[string]map[string]string{
		"":               {},
		"privacy":        {"dfs.encrypt.data.transfer": "true"},
		"integrity":      {"dfs.data.transfer.protection": "authentication, Integrity"},
		"authentication": {"dfs.data.transfer.protection": "authentication"},
	} {
		t.Run(want, func(t *testing.T) {
			s, err := newSetup(Options{Conf: keys, Getenv: func(string) string { return "" }, User: "x"})
			if err != nil || s.protection != want {
				t.Errorf("%v: %q, %v", keys, s.protection, err)
			}
		})
	}
}

func TestClosed(t *testing.T) {
	s := offline(t, pair, nil)
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.List(t.Context(), "hdfs://ns/x"); !errors.Is(err, os.ErrClosed) {
		t.Errorf("list: %v", err)
	}
	if _, err := s.Open(t.Context(), shard.Shard{URI: "hdfs://ns/x", Size: 1}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("open: %v", err)
	}
}
