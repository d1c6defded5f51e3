package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/shardfeed/shardfeed/internal/servertest"
)

// The scripts of testdata/server have the shop in $S3 and $HDFS, with tokenizers beside it, the
// same S3 server behind a slow line at $SLOW, and a server that never answers at $SILENT.
func TestServerScripts(t *testing.T) {
	s3, hdfs := servertest.S3(t), servertest.HDFS(t, servertest.HDFSOptions{})
	bucket, dir := s3.Bucket(t), hdfs.Dir(t)
	for _, file := range shopFiles(t) {
		s3.PutFile(t, bucket, "shop/"+filepath.Base(file), file)
		hdfs.PutFile(t, dir+"/shop/"+filepath.Base(file), file)
	}
	for name, content := range tokenizerFiles(t) {
		s3.PutFile(t, bucket, "shop-tokens/"+name, content)
		hdfs.PutFile(t, dir+"/shop-tokens/"+name, content)
	}
	slow := servertest.NewProxy(t, strings.TrimPrefix(s3.Endpoint, "http://"))
	slow.Set(servertest.Faults{Latency: 400 * time.Millisecond, Rate: 200 << 10})
	// Proxies as slow, each of one command alone: what is on its way when that ends still passes
	// later.
	warmed, printed := servertest.NewProxy(t, strings.TrimPrefix(s3.Endpoint, "http://")), servertest.NewProxy(t, strings.TrimPrefix(s3.Endpoint, "http://"))
	for _, p := range []*servertest.Proxy{warmed, printed} {
		p.Set(servertest.Faults{Latency: 400 * time.Millisecond, Rate: 200 << 10})
	}
	silent := servertest.NewProxy(t, strings.TrimPrefix(s3.Endpoint, "http://"))
	silent.Set(servertest.Faults{Latency: time.Hour})
	testscript.Run(t, testscript.Params{
		Dir: "testdata/server",
		Setup: func(env *testscript.Env) error {
			for name, value := range map[string]string{
				"S3": "s3://" + bucket + "/shop", "HDFS": hdfs.URI + dir + "/shop", "SLOW": slow.Endpoint(), "WARMED": warmed.Endpoint(), "PRINTED": printed.Endpoint(), "SILENT": silent.Addr,
				"AWS_ENDPOINT_URL": s3.Endpoint, "AWS_ACCESS_KEY_ID": s3.Key, "AWS_SECRET_ACCESS_KEY": s3.Secret, "AWS_REGION": s3.Region,
				"AWS_EC2_METADATA_DISABLED": "true", "HADOOP_CONF_DIR": hdfs.ConfDir, "HADOOP_USER_NAME": "test",
				"GORACE": "atexit_sleep_ms=0", dirVariable: filepath.Join(env.WorkDir, ".cache"), limitVariable: "256MiB",
			} {
				env.Setenv(name, value)
			}
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"json": scriptJSON, "lines": scriptLines,
			"warmed":    waitCommand(warmed.Passed),
			"printed":   waitCommand(printed.Passed),
			"connected": waitCommand(func() int64 { return int64(silent.Connections()) }),
		},
	})
}

// tokenizerFiles writes a tokenizer.json, one that was cut short and an empty one, and returns
// their paths by name.
func tokenizerFiles(t *testing.T) map[string]string {
	t.Helper()
	content, err := os.ReadFile("testdata/tokenizer.json")
	if err != nil {
		t.Fatal(err)
	}
	dir, all := t.TempDir(), map[string]string{}
	for name, b := range map[string][]byte{"tokenizer.json": content, "cut.json": content[:len(content)/2], "empty.json": nil} {
		all[name] = filepath.Join(dir, name)
		if err := os.WriteFile(all[name], b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// waitCommand is "NAME N": the script waits until the count has grown by N since the last such
// wait.
func waitCommand(count func() int64) func(ts *testscript.TestScript, neg bool, args []string) {
	var seen int64
	return func(ts *testscript.TestScript, _ bool, args []string) {
		n, err := strconv.ParseInt(args[0], 10, 64)
		ts.Check(err)
		for deadline := time.Now().Add(time.Minute); count() < seen+n; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				ts.Fatalf("the count is %d, want %d", count(), seen+n)
			}
		}
		seen = count()
	}
}
