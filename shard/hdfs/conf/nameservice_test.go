package conf

import (
	"errors"
	"strings"
	"testing"
)

// two is a configuration with a pair, a single nameservice and a cluster's own defaults.
var two = map[string]string{
	"fs.defaultFS":                        "hdfs://east",
	"dfs.nameservices":                    "east, west",
	"dfs.ha.namenodes.east":               "nn1,\n nn2",
	"dfs.namenode.rpc-address.east.nn1":   "e1.example.com:9000",
	"dfs.namenode.rpc-address.east.nn2":   "e2.example.com",
	"dfs.namenode.http-address.east.nn1":  "0.0.0.0:50070",
	"dfs.namenode.https-address.east.nn2": "web.example.com:50470",
	"dfs.namenode.rpc-address.west":       "w.example.com:8021",
	"dfs.namenode.http-address.west":      "w.example.com:1234",
	"dfs.ha.namenodes.broken":             "nn1",
	"dfs.namenode.rpc-address.odd":        "a:b:c",
	"dfs.ha.namenodes.odd":                "",
}

func TestNameservice(t *testing.T) {
	single := map[string]string{
		"fs.defaultFS": "hdfs://nn:9000/", "dfs.namenode.http-address": "0.0.0.0:5", "dfs.namenode.https-address": "[::]:6",
	}
	secure := map[string]string{"dfs.http.policy": "HTTPS_ONLY"}
	for _, c := range []struct {
		name, authority string
		conf            map[string]string
		rpc, web, tls   string // or error
	}{
		{
			"pair", "east", two, "e1.example.com:9000 e2.example.com:8020",
			"http://e1.example.com:50070 http://e2.example.com:9870", "https://e1.example.com:9871 https://web.example.com:50470",
		},
		{
			"default", "", two, "e1.example.com:9000 e2.example.com:8020",
			"http://e1.example.com:50070 http://e2.example.com:9870", "https://e1.example.com:9871 https://web.example.com:50470",
		},
		{"single nameservice", "west", two, "w.example.com:8021", "http://w.example.com:1234", "https://w.example.com:9871"},
		{"one of a pair", "e1.example.com:9000", two, "e1.example.com:9000", "http://e1.example.com:50070", "https://e1.example.com:9871"},
		{"by host", "E2.example.com", two, "E2.example.com:8020", "http://E2.example.com:9870", "https://web.example.com:50470"},
		{"stranger", "nn.else.where:1", two, "nn.else.where:1", "http://nn.else.where:9870", "https://nn.else.where:9871"},
		{"misspelled", "esat", two, "error: no nameservice \"esat\", only broken, east, odd, west; a namenode is named with its port, as in esat:8020", "", ""},
		{"no address", "broken", two, "error: the nameservice broken has no dfs.namenode.rpc-address.broken.nn1", "", ""},
		{"bad address", "odd", two, "error: \"a:b:c\"", "", ""},
		{"host alone", "nn", nil, "nn:8020", "http://nn:9870", "https://nn:9871"},
		{"IPv6", "[::1]:9", nil, "[::1]:9", "http://[::1]:9870", "https://[::1]:9871"},
		{"IPv6 alone", "[::1]", nil, "[::1]:8020", "http://[::1]:9870", "https://[::1]:9871"},
		{"of the default", "", single, "nn:9000", "http://nn:5", "https://nn:6"},
		{"https alone", "nn", secure, "nn:8020", "https://nn:9871", "https://nn:9871"},
		{"user", "me@nn", nil, "error: host or host:port", "", ""},
		{"bad port", "nn:port", nil, "error: neither host nor host:port", "", ""},
		{"nothing", "", nil, "error: set HADOOP_CONF_DIR", "", ""},
		{"default elsewhere", "", map[string]string{"fs.defaultFS": "s3a://bucket"}, "error: fs.defaultFS is s3a://bucket", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, err := New(c.conf).Nameservice(c.authority)
			if want, ok := strings.CutPrefix(c.rpc, "error: "); ok {
				if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), want) {
					t.Fatalf("error %v, want %q", err, want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(n.RPC, " "); got != c.rpc {
				t.Errorf("namenodes %s, want %s", got, c.rpc)
			}
			if got := strings.Join(n.Web(false), " "); got != c.web {
				t.Errorf("web servers %s, want %s", got, c.web)
			}
			if got := strings.Join(n.Web(true), " "); got != c.tls {
				t.Errorf("by https %s, want %s", got, c.tls)
			}
			if len(n.plain) != len(n.RPC) {
				t.Errorf("%d web servers of %d namenodes", len(n.plain), len(n.RPC))
			}
		})
	}
}

var mounts = map[string]string{
	"fs.defaultFS":     "viewfs://city/",
	"dfs.nameservices": "a", "dfs.namenode.rpc-address.a": "a:1",
	"fs.viewfs.mounttable.city.link./data":       "hdfs://a/big/data/",
	"fs.viewfs.mounttable.city.link./data/logs":  "hdfs://b:8020/logs",
	"fs.viewfs.mounttable.city.link./user/alice": "hdfs://a/home/alice",
	"fs.viewfs.mounttable.city.link./user/bob":   "hdfs:///bob",
	"fs.viewfs.mounttable.city.homedir":          "/user",
	"fs.viewfs.mounttable.town.linkMergeSlash":   "hdfs://a/",
	"fs.viewfs.mounttable.town.linkFallback":     "hdfs://never/",
	"fs.viewfs.mounttable.back.link./x":          "hdfs://a/x",
	"fs.viewfs.mounttable.back.linkFallback":     "hdfs://b/rest",
	"fs.viewfs.mounttable.loop.link./x":          "viewfs://loop/x",
	"fs.viewfs.mounttable.merge.linkMerge./x":    "hdfs://a/x,hdfs://b/x",
	"fs.viewfs.mounttable.s3.link./x":            "s3a://bucket/x",
}

func TestResolve(t *testing.T) {
	for _, c := range []struct{ uri, want string }{
		{"hdfs://a/x", "hdfs://a/x"},
		{"s3://a/x", "s3://a/x"},
		{"viewfs://city/data", "hdfs://a/big/data"},
		{"viewfs://city/data/", "hdfs://a/big/data"},
		{"viewfs://city//data/x/*.parquet", "hdfs://a/big/data/x/*.parquet"},
		{"viewfs://city/data/logs/1", "hdfs://b:8020/logs/1"},
		{"viewfs://city/data/logs2", "hdfs://a/big/data/logs2"},
		{"viewfs:///data/x", "hdfs://a/big/data/x"},
		{"hdfs:///data/x", "hdfs://a/big/data/x"},
		{"viewfs://city/user/bob/x", "error: no link for /bob/x"},
		{"viewfs://city/user", "error: directory of mount points: alice, bob"},
		{"viewfs://city", "error: directory of mount points: data, user"},
		{"viewfs://city/other", "error: no link for /other, only /data, /data/logs, /user/alice, /user/bob"},
		{"viewfs://town/x/y", "hdfs://a/x/y"},
		{"viewfs://town", "hdfs://a"},
		{"viewfs://back/x", "hdfs://a/x"},
		{"viewfs://back/y", "hdfs://b/rest/y"},
		{"viewfs://loop/x/y", "error: circle"},
		{"viewfs://merge/x", "error: links of this kind"},
		{"viewfs://s3/x/y", "s3a://bucket/x/y"},
		{"viewfs://vilage/x", "error: no mount table \"vilage\": it has back, city, loop, merge, s3, town"},
	} {
		t.Run(c.uri, func(t *testing.T) {
			got, err := New(mounts).Resolve(c.uri)
			if want, ok := strings.CutPrefix(c.want, "error: "); ok {
				if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), want) {
					t.Errorf("%s, error %v, want %q", got, err, want)
				}
				return
			}
			if err != nil || got != c.want {
				t.Errorf("%s, %v, want %s", got, err, c.want)
			}
		})
	}
	if _, err := New(mounts).Resolve("viewfs://city/user"); !errors.Is(err, ErrMounts) {
		t.Errorf("error %v", err)
	}
	for uri, want := range map[string]string{
		"viewfs://city": "data user", "viewfs://city/user/": "alice bob", "viewfs://city/data": "logs", "viewfs://town": "", "hdfs://a": "", "viewfs://none": "",
	} {
		t.Run(uri, func(t *testing.T) {
			if got := strings.Join(New(mounts).Mounts(uri), " "); got != want {
				t.Errorf("mounts of %s: %s", uri, got)
			}
		})
	}
	for _, c := range []struct{ fs, uri, want string }{
		{"hdfs://ns/", "hdfs:///x", "hdfs://ns/x"},
		{"hdfs://ns", "hdfs:/x", "hdfs://ns/x"},
		{"", "hdfs:///x", ""},
		{"file:///", "hdfs:///x", ""},
	} {
		t.Run(c.fs, func(t *testing.T) {
			if got, _ := New(map[string]string{"fs.defaultFS": c.fs}).Resolve(c.uri); got != c.want {
				t.Errorf("%+v: %s", c, got)
			}
		})
	}
	if _, err := new(Conf).Resolve("viewfs://x/y"); err == nil || !strings.Contains(err.Error(), "no fs.viewfs.mounttable") {
		t.Errorf("error %v", err)
	}
}
