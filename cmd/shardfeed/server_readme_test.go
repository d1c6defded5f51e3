package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/servertest"
)

// The commands in the bash blocks of the pages run on real servers, with the names that they take
// for granted put in.
func TestServerReadme(t *testing.T) {
	pages, _ := pages(t)
	s3, hdfs, gcs := servertest.S3(t), servertest.HDFS(t, servertest.HDFSOptions{}), servertest.GCS(t)
	azurite := servertest.Azurite(t)
	quietHome(t)
	bucket, dir, google, container := s3.Bucket(t), hdfs.Dir(t), gcs.Bucket(t), azurite.Container(t)
	for _, file := range shopFiles(t) {
		s3.PutFile(t, bucket, "table/"+filepath.Base(file), file)
		hdfs.PutFile(t, dir+"/table/"+filepath.Base(file), file)
		gcs.PutFile(t, google, "table/"+filepath.Base(file), file)
		azurite.PutFile(t, container, "table/"+filepath.Base(file), file)
	}
	s3.Setenv(t)
	t.Setenv("STORAGE_EMULATOR_HOST", gcs.Endpoint)
	t.Setenv("AZURE_STORAGE_CONNECTION_STRING", azurite.ConnectionString())
	profiles := filepath.Join(t.TempDir(), "config")
	write(t, profiles, fmt.Sprintf("[profile research]\naws_access_key_id = %s\naws_secret_access_key = %s\n", s3.Key, s3.Secret))
	t.Setenv("AWS_CONFIG_FILE", profiles)
	t.Setenv("HADOOP_CONF_DIR", nameservice(t, hdfs))
	names := strings.NewReplacer(
		"s3://bucket/", "s3://"+bucket+"/", "http://localhost:9000", s3.Endpoint, "gs://bucket/", "gs://"+google+"/",
		"az://container/", "az://"+container+"/", "abfss://container@account.", "abfss://"+container+"@"+azurite.Account+".",
		"hdfs:///data/", "hdfs://"+dir+"/", "hdfs://nameservice/data/", "hdfs://nameservice"+dir+"/", "hdfs://namenode:8020/data/", "hdfs://"+hdfs.RPC[0]+dir+"/",
		"webhdfs://namenode:9870/data/", "webhdfs://"+hdfs.HTTP[0]+dir+"/", "token_ids,label", "unique_id,label",
	)
	var commands [][]string
	for _, page := range slices.Sorted(maps.Keys(pages)) {
		commands = append(commands, commandsOf(pages[page], "bash")...)
	}
	if len(commands) < 12 {
		t.Errorf("only %d commands were found", len(commands))
	}
	t.Chdir(t.TempDir()) // for the files that they write
	for _, args := range commands {
		if slices.Contains(args, "--keytab") || slices.Contains(args, "--no-sign-request") {
			continue // need a realm, and a public bucket
		}
		for i := range args {
			args[i] = names.Replace(args[i])
		}
		if out := must(t, args...); out == "" {
			t.Errorf("%q prints nothing", args)
		}
	}
}

// nameservice is the directory of a configuration in which the cluster has a name, and is the one
// that addresses without a host mean.
func nameservice(t *testing.T, c *servertest.Cluster) string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "core-site.xml"),
		`<configuration><property><name>fs.defaultFS</name><value>hdfs://nameservice</value></property></configuration>`)
	write(t, filepath.Join(dir, "hdfs-site.xml"), fmt.Sprintf(`<configuration>
<property><name>dfs.nameservices</name><value>nameservice</value></property>
<property><name>dfs.ha.namenodes.nameservice</name><value>nn1</value></property>
<property><name>dfs.namenode.rpc-address.nameservice.nn1</name><value>%s</value></property>
<property><name>dfs.namenode.http-address.nameservice.nn1</name><value>%s</value></property>
</configuration>`, c.RPC[0], c.HTTP[0]))
	return dir
}

// With Kerberos the shop is read by a keytab, by the tickets of kinit, and natively as well as over
// HTTP.
func TestServerKerberos(t *testing.T) {
	realm := servertest.Kerberos(t)
	hdfs := servertest.HDFS(t, servertest.HDFSOptions{Kerberos: realm})
	quietHome(t)
	t.Setenv("KRB5_CONFIG", realm.Config)
	dir := hdfs.Dir(t)
	for _, file := range shopFiles(t) {
		hdfs.PutFile(t, dir+"/shop/"+filepath.Base(file), file)
	}
	want := must(t, "cat", shop, "--columns", "unique_id,price")
	native, web := hdfs.URI+dir+"/shop", "webhdfs://"+hdfs.HTTP[0]+dir+"/shop"
	keytab := []string{"--keytab", realm.Keytab, "--principal", realm.Principal}
	for _, address := range []string{native, web} {
		args := []string{"cat", address, "--columns", "unique_id,price", "--hdfs-conf", hdfs.ConfDir, "--no-cache"}
		if got := must(t, append(args, keytab...)...); got != want {
			t.Errorf("%s: rows differ by a keytab", address)
		}
		code, _, stderr := command(t, args...)
		if code != exitFailed || !strings.Contains(stderr, "kinit") && !strings.Contains(stderr, "keytab") {
			t.Errorf("%s without a ticket: exit %d, %s", address, code, stderr)
		}
		begin := time.Now()
		code, _, stderr = command(t, append(args, "--keytab", filepath.Join(dir, "none"))...)
		if took := time.Since(begin); took > 45*time.Second {
			t.Errorf("%s with a keytab that is not there: an error after %v", address, took)
		}
		if code != exitFailed || !strings.Contains(stderr, "none") {
			t.Errorf("%s with a keytab that is not there: exit %d, %s", address, code, stderr)
		}
	}
	t.Setenv("KRB5CCNAME", realm.CCache(t, time.Hour))
	if got := must(t, "cat", native, "--columns", "unique_id,price", "--hdfs-conf", hdfs.ConfDir); got != want {
		t.Error("rows differ by tickets")
	}
	var d diagnosis
	object(t, &d, append([]string{"doctor", native, "--hdfs-conf", hdfs.ConfDir}, keytab...)...)
	if text := fmt.Sprint(d.Places[0].Facts); !strings.Contains(text, realm.Principal) {
		t.Errorf("doctor does not say as whom: %s", text)
	}
}
