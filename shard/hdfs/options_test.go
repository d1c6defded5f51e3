package hdfs

import (
	"strings"
	"testing"
	"time"
)

func TestParseOptions(t *testing.T) {
	o, err := ParseOptions(map[string]string{
		"hdfs.conf_dir": "/etc/hadoop", "hdfs.user": "alice", "hdfs.keytab": "/k", "hdfs.principal": "alice@X", "hdfs.krb5_conf": "/krb5.conf",
		"hdfs.data_transfer_protection": "privacy", "hdfs.use_datanode_hostname": "TRUE", "hdfs.allow_unverified": "1",
		"hdfs.webhdfs": "http://h:9870", "hdfs.delegation": "secret", "hdfs.ca_bundle": "/ca", "hdfs.slots": "3", "hdfs.read_timeout": "5s",
		"hdfs.gateway": "/gateway/default", "hdfs.password": "p", "hdfs.token_file": "/t", "hdfs.proxy": "http://proxy:3128", "hdfs.datanode_map": "a:1=b:2",
		"hdfs.retry_for": "1.5", "dfs.nameservices": "ns", "fs.defaultFS": "hdfs://ns", "hadoop.rpc.protection": "privacy",
	})
	if err != nil {
		t.Fatal(err)
	}
	if o.ConfDir != "/etc/hadoop" || o.User != "alice" || o.Keytab != "/k" || o.Principal != "alice@X" || o.Krb5Conf != "/krb5.conf" ||
		o.DataTransferProtection != "privacy" || !o.UseDatanodeHostname || !o.AllowUnverified || o.WebHDFS != "http://h:9870" ||
		o.Delegation != "secret" || o.CABundle != "/ca" || o.Slots != 3 || o.ReadTimeout != 5*time.Second || o.RetryFor != 1500*time.Millisecond ||
		o.Gateway != "/gateway/default" || o.Password != "p" || o.TokenFile != "/t" || o.Proxy != "http://proxy:3128" || o.DatanodeMap != "a:1=b:2" ||
		len(o.Conf) != 3 || o.Conf["fs.defaultFS"] != "hdfs://ns" {
		t.Errorf("%+v", o)
	}
	for _, key := range []string{"hdfs.ccache", "kerb_ticket"} {
		if o, err := ParseOptions(map[string]string{key: "/tmp/cc", "user": "bob"}); err != nil || o.CCache != "/tmp/cc" || o.User != "bob" {
			t.Errorf("%s: %+v, %v", key, o, err)
		}
	}
	o = Options{}.withDefaults()
	if o.Slots <= 0 || o.PartSize <= 0 || o.ReadTimeout <= 0 || o.RetryFor < time.Minute || o.IdleTimeout <= 0 || o.Getenv == nil {
		t.Errorf("defaults %+v", o)
	}
}

func TestParseOptionsErrors(t *testing.T) {
	for _, c := range []struct{ key, value, want string }{
		{"hdfs.use_datanode_hostname", "maybe", `hdfs.use_datanode_hostname: must be true or false, got "maybe"`},
		{"hdfs.slots", "many", `hdfs.slots: must be a number, got "many"`},
		{"hdfs.slots", "-1", "cannot be negative"},
		{"hdfs.read_timeout", "soon", `hdfs.read_timeout: must be a time such as 20s, got "soon"`},
		{"hdfs.retry_for", "-3s", "cannot be negative"},
		{"hdfs.data_transfer_protection", "none", `is "none", not authentication, integrity or privacy`},
		{"hdfs.proxy", "nonsense", "hdfs.proxy: "},
		{"hdfs.datanode_map", "dn1", "hdfs.datanode_map: \"dn1\" does not map"},
		{"hdfs.webhdfs", "h:9870", "not an address like http://namenode:9870"},
		{"endpoint_url", "x", `unknown option "endpoint_url"; known are hdfs.allow_unverified, `},
	} {
		t.Run(c.key, func(t *testing.T) {
			_, err := ParseOptions(map[string]string{c.key: c.value})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s=%s: %v, want %s", c.key, c.value, err, c.want)
			}
		})
	}
	_, err := ParseOptions(map[string]string{"hdfs.keytab": "/k", "hdfs.ccache": "/c", "hdfs.slots": "x", "y": "z"})
	if bad := (Options{Proxy: "://user:secret@x"}).Validate(); bad == nil || strings.Contains(bad.Error(), "secret") {
		t.Errorf("a bad proxy: %v", bad)
	}
	if err := (Options{Proxy: "http://h:3128"}).Validate(); err != nil {
		t.Error(err)
	}
	for _, want := range []string{"exclude each other", "must be a number", "unknown option"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("all at once: %v, want also %s", err, want)
		}
	}
}

// TestWebOptions: options that are wrong fail at the first use of WebHDFS too.
func TestWebOptions(t *testing.T) {
	s := New(Options{Proxy: "nonsense"})
	defer s.Close()
	if _, err := s.WebHDFS().List(t.Context(), "webhdfs://h:1/x"); err == nil || !strings.Contains(err.Error(), "hdfs.proxy: ") {
		t.Errorf("error %v", err)
	}
}
