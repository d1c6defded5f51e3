package webhdfs

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/hdfs/conf"
	"github.com/shardfeed/shardfeed/shard/hdfs/krb"
)

var pair = map[string]string{
	"dfs.nameservices": "east", "dfs.ha.namenodes.east": "a,b",
	"dfs.namenode.rpc-address.east.a": "na:8020", "dfs.namenode.rpc-address.east.b": "nb:8020",
	"dfs.namenode.https-address.east.b": "nb:1",
}

func TestAddress(t *testing.T) {
	for _, c := range []struct {
		uri, gateway string
		bases        string // or error
		path         string
	}{
		{"webhdfs://h:9870/a/b", "", "http://h:9870", "/a/b"},
		{"swebhdfs://h:9871/a/b/", "", "https://h:9871", "/a/b/"},
		{"webhdfs://h.x", "", "http://h.x:9870", ""},
		{"swebhdfs://h.x/x", "", "https://h.x:9871", "/x"},
		{"WEBHDFS://h:1/100%25?a#b", "", "http://h:1", "/100%25?a#b"},
		{"webhdfs://east/x", "", "http://na:9870 http://nb:9870", "/x"},
		{"swebhdfs://east/x", "", "https://na:9871 https://nb:1", "/x"},
		{"swebhdfs://knox:8443/gateway/default/webhdfs/v1/a/b", "", "https://knox:8443/gateway/default", "/a/b"},
		{"swebhdfs://knox:8443/gateway/default/webhdfs/v1", "", "https://knox:8443/gateway/default", ""},
		{"swebhdfs://knox:8443/gateway/default/webhdfs/v1/", "", "https://knox:8443/gateway/default", "/"},
		{"webhdfs://h:1/webhdfs/v1/a/", "", "http://h:1", "/a/"},
		{"webhdfs://h:1/a", "/gw/x", "http://h:1/gw/x", "/a"},
		{"webhdfs://h:1/webhdfs/v1/a", "/gw", "http://h:1/gw", "/webhdfs/v1/a"},
		{"webhdfs://[::1]:9870/a", "", "http://[::1]:9870", "/a"},
		{"webhdfs:///a", "", "error: it names no host", ""},
		{"webhdfs://me:secret@h/a", "", "error: holds no user", ""},
		{"webhdfs://west/x", "", "error: no nameservice \"west\"", ""},
		{"hdfs://h/x", "", "error: hdfs:// is not read over HTTP", ""},
		{"webhdfs://a b:9870/x", "", "error: neither a host", ""},
	} {
		t.Run(c.uri, func(t *testing.T) {
			a, err := parse(c.uri, c.gateway)
			var bases []string
			if err == nil {
				bases, err = a.bases(conf.New(pair))
			}
			if want, ok := strings.CutPrefix(c.bases, "error: "); ok {
				if !errors.Is(err, shard.ErrBadURI) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
					t.Fatalf("error %v, want %q", err, want)
				}
				return
			}
			if err != nil || strings.Join(bases, " ") != c.bases || a.path != c.path || a.prefix+a.path != c.uri {
				t.Errorf("bases %v, %+v, error %v", bases, a, err)
			}
		})
	}
}

func FuzzAddress(f *testing.F) {
	for _, seed := range []string{"webhdfs://h:1/a", "swebhdfs://k/gw/webhdfs/v1/a//b/", "webhdfs://[::1]/%"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		a, err := parse(uri, "")
		if err != nil {
			return
		}
		if a.prefix+a.path != uri {
			t.Fatalf("%q was cut into %q and %q", uri, a.prefix, a.path)
		}
		bases, err := a.bases(nil)
		if err != nil {
			return
		}
		for _, text := range bases {
			u, err := url.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			q := (&base{url: u}).locate(query{path: clean(a.path)})
			again, err := url.Parse(q.String())
			if err != nil || again.Path != u.Path+apiRoot+clean(a.path) {
				t.Fatalf("%q became %s, %v", a.path, q, err)
			}
		}
	})
}

func TestOptions(t *testing.T) {
	for given, want := range map[string]string{
		"": "", "/gateway/default": "/gateway/default", "gateway/default/": "/gateway/default", "/gw/webhdfs/v1/": "/gw", "/": "",
	} {
		t.Run(given, func(t *testing.T) {
			if got := (Options{Gateway: given}).withDefaults().Gateway; got != want {
				t.Errorf("gateway %q became %q, want %q", given, got, want)
			}
		})
	}
	t.Setenv("HADOOP_USER_NAME", "bob")
	if got := (Options{}).withDefaults().User; got != "bob" {
		t.Error(got)
	}
}

func TestDatanodeMap(t *testing.T) {
	translate, err := ParseDatanodeMap("dn1:9864=127.0.0.1:1, DN2=two, dn3=three:3")
	if err != nil {
		t.Fatal(err)
	}
	for from, want := range map[string]string{"dn1:9864": "127.0.0.1:1", "dn1:1": "dn1:1", "dn2:9864": "two:9864", "dn3:1": "three:3", "x": "x"} {
		t.Run(from, func(t *testing.T) {
			if got := translate(from); got != want {
				t.Errorf("%s became %s, want %s", from, got, want)
			}
		})
	}
	for _, bad := range []string{"", "dn1", "dn1=", "=x", "a=b,"} {
		if _, err := ParseDatanodeMap(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestRemote(t *testing.T) {
	body := func(exception, message string) string {
		return `{"RemoteException":{"exception":"` + exception + `","javaClassName":"x.` + exception + `","message":"` + message + `"}}`
	}
	for _, c := range []struct {
		code int
		body string
		want error
		text string
	}{
		{404, body("FileNotFoundException", "File does not exist: /x"), shard.ErrNotExist, "h: FileNotFoundException: File does not exist: /x"},
		{403, body("AccessControlException", `Permission denied: user=bob\n\tat org.x`), shard.ErrDenied, "h: AccessControlException: Permission denied: user=bob"},
		{403, body("StandbyException", "Operation category READ is not supported in state standby"), errStandby, ""},
		{403, body("SecurityException", "... StandbyException"), errStandby, ""},
		{403, body("InvalidToken", "token (token for alice) is expired"), shard.ErrDenied, ""},
		{403, body("IOException", "Offset=5 out of the range [0, 3); OPEN, path=/x"), errRange, ""},
		{403, body("IOException", "Could not obtain block: BP-1"), shard.ErrTransient, ""},
		{403, body("SafeModeException", "Zero blocklocations for /x"), shard.ErrTransient, ""},
		{403, body("RetriableException", "NameNode still not started"), shard.ErrTransient, ""},
		{400, body("IllegalArgumentException", "Invalid value for webhdfs parameter"), errUnsupported, ""},
		{503, "<html>", shard.ErrTransient, "h: 503 Service Unavailable"},
		{500, body("RuntimeException", "odd"), shard.ErrTransient, ""},
		{429, "", shard.ErrTransient, ""},
		{401, "<html>", shard.ErrDenied, "h: 401 Unauthorized"},
		{403, "", shard.ErrDenied, ""},
		{404, "<html>", errNoAPI, ""},
		{403, body("IOException", "odd"), nil, "h: IOException: odd"},
		{403, body("IOException", "GET http://x?delegation=SECRET&a=b, token=SECRET"), nil, "h: IOException: GET http://x?delegation=***&a=b, token=***"},
	} {
		t.Run(fmt.Sprintf("%+v", c.code), func(t *testing.T) {
			err := parseRemote("h", c.code, []byte(c.body))
			if c.want != nil && !errors.Is(err, c.want) || c.want == nil && err.Unwrap() != nil {
				t.Errorf("%d %s: %v", c.code, c.body, err.Unwrap())
			}
			if c.text != "" && err.Error() != c.text {
				t.Errorf("%d %s reads %q", c.code, c.body, err)
			}
		})
	}
	if long := oneLine(strings.Repeat("é", 400)); len(long) > 510 {
		t.Errorf("a message of %d bytes", len(long))
	}
}

func TestAnswers(t *testing.T) {
	status := func(body string) error { _, err := parseStatus([]byte(body)); return err }
	list := func(body string) error { _, err := parseList([]byte(body)); return err }
	page := func(body string) error { _, err := parsePage([]byte(body)); return err }
	blocks := func(body string) error { _, err := parseLocations([]byte(body)); return err }
	for _, body := range []string{"", "{}", "<html>", "[]", `{"FileStatus":{"length":-1}}`, `{"FileStatus":3}`, `{"FileStatuses":4}`, "null"} {
		for i, parse := range []func(string) error{status, list, page, blocks} {
			if parse(body) == nil {
				t.Errorf("parser %d takes %q", i, body)
			}
		}
	}
	found, err := parseLocations([]byte(`{"BlockLocations":{"BlockLocation":[{"offset":1,"length":2,"hosts":["a","b"]}]}}`))
	if err != nil || len(found.Blocks) != 1 || found.Blocks[0].Off != 1 || len(found.Blocks[0].Hosts) != 2 {
		t.Errorf("%+v, %v", found, err)
	}
}

func FuzzAnswers(f *testing.F) {
	f.Add([]byte(`{"FileStatus":{"pathSuffix":"","type":"FILE","length":3,"modificationTime":5,"fileId":7}}`))
	f.Add([]byte(`{"DirectoryListing":{"partialListing":{"FileStatuses":{"FileStatus":[{"pathSuffix":"a"}]}},"remainingEntries":2}}`))
	f.Add([]byte(`{"LocatedBlocks":{"isUnderConstruction":true,"locatedBlocks":[{"startOffset":1,"block":{"numBytes":3},"locations":[{"hostName":"h"}]}]}}`))
	f.Add([]byte(`{"RemoteException":{"exception":"X","message":"token=a"}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if s, err := parseStatus(body); err == nil {
			s.entry()
			_ = s.differs(shard.Shard{})
		}
		_, _ = parseList(body)
		_, _ = parsePage(body)
		_, _ = parseLocations(body)
		if e := parseRemote("h", 403, body); strings.Contains(e.Error(), "\n") {
			t.Errorf("%q", e.Error())
		}
	})
}

func TestVersion(t *testing.T) {
	modified, inode, ok := splitVersion(Version(1700000000123, 16386))
	if !ok || modified != 1700000000123 || inode != 16386 || Version(1700000000123, 16386) != "1700000000123-16386" {
		t.Error(modified, inode, ok)
	}
	for _, bad := range []string{"", "1", "-", "a-1", "1-b", "1--1", `"etag"`} {
		if _, _, ok := splitVersion(bad); ok {
			t.Errorf("%q is a version", bad)
		}
	}
	err := status{Type: "FILE", Length: 3, Modified: 1, Inode: 2}.differs(shard.Shard{Size: 4, Version: "1-3"})
	if !errors.Is(err, shard.ErrChanged) ||
		err.Error() != "changed since it was listed: was 4 bytes, modified at 1970-01-01T00:00:00.001Z (inode 3), is 3 bytes, modified at 1970-01-01T00:00:00.001Z (inode 2)" {
		t.Error(err)
	}
	if err := (status{Type: "DIRECTORY"}).differs(shard.Shard{}); !errors.Is(err, shard.ErrChanged) {
		t.Error(err)
	}
}

// TestCut: parts cover all ranges, each no longer than the limit, and holes only where they are
// small.

func TestExplain(t *testing.T) {
	setup := func() (*conf.Conf, *krb.Source, error) { return conf.New(pair), nil, nil }
	for _, c := range []struct {
		options Options
		uri     string
		want    []string
	}{
		{Options{Setup: setup, User: "bob"}, "webhdfs://east/x", []string{"servers=http://na:9870, http://nb:9870", "credentials=user name bob, which the server believes"}},
		{Options{Setup: setup, User: "bob", Password: "secret"}, "webhdfs://h:1/x", []string{"servers=http://h:1", "credentials=user bob with a password"}},
		{Options{Delegation: "secret"}, "webhdfs://h:1/x", []string{"credentials=delegation token, given as an option"}},
		{Options{TokenFile: "/tokens"}, "webhdfs://h:1/x", []string{"credentials=delegation tokens of /tokens"}},
		{Options{Setup: setup}, "webhdfs://west/x", []string{"problem="}},
		{Options{Setup: func() (*conf.Conf, *krb.Source, error) { return nil, nil, errors.New("broken") }}, "webhdfs://h:1/x", []string{"problem=broken", "servers="}},
	} {
		facts, err := New(c.options).Explain(t.Context(), c.uri)
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, f := range facts {
			lines = append(lines, f.Name+"="+f.Value)
		}
		text := strings.Join(lines, "\n")
		for _, want := range c.want {
			if !strings.Contains(text, want) || strings.Contains(text, "secret") {
				t.Errorf("%s: %s lacks %s", c.uri, text, want)
			}
		}
	}
	if _, err := New(Options{}).Explain(t.Context(), "s3://x"); !errors.Is(err, shard.ErrBadURI) {
		t.Errorf("error %v", err)
	}
}

func TestIdentity(t *testing.T) {
	s := New(Options{})
	for _, c := range [][2]string{
		{"webhdfs://h:1/a//b/", "webhdfs://H:1/a/b"},
		{"swebhdfs://k:1/gw/webhdfs/v1/a", "swebhdfs://k:1/gw/webhdfs/v1/./a"},
	} {
		if one, two := s.Identity(c[0]), s.Identity(c[1]); one != two {
			t.Errorf("%s is %s, %s is %s", c[0], one, c[1], two)
		}
	}
	if s.Identity("webhdfs://h/a") == s.Identity("webhdfs://h/A") || s.Identity("s3://x") != "s3://x" {
		t.Error("identities")
	}
	if s.Parallel("webhdfs://h/a") != parallelReads || New(Options{MaxRequests: 3}).Parallel("") != 3 {
		t.Error("reads at once")
	}
}
