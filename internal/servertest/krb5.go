package servertest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A KDC is a real Kerberos key distribution center on loopback, with the realm of a test.
type KDC struct {
	Config    string // path of krb5.conf, for KRB5_CONFIG
	Realm     string
	Principal string // a user, alice@Realm
	Keytab    string // path of the user's keytab
	Addr      string // host:port of the center

	services string // path of the keytab of the daemons
	bin      string // where the center's programs are
	proc     *process
}

const realm = "SHARDFEED.TEST"

// kdcs holds the shared center of the process.
var kdcs pool[struct{}, *KDC]

// Kerberos returns a key distribution center that the tests of the binary share.
func Kerberos(t testing.TB) *KDC {
	t.Helper()
	bin := Need(t, "krb5")
	return kdcs.get(t, struct{}{}, func() (*KDC, error) {
		return retry(func() (*KDC, error) { return startKDC(bin) })
	})
}

func startKDC(bin string) (*KDC, error) {
	root, err := newRoot("krb5")
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	k := &KDC{
		Config: filepath.Join(root, "krb5.conf"), Realm: realm, Principal: "alice@" + realm, Keytab: filepath.Join(root, "alice.keytab"),
		Addr: "127.0.0.1:" + strconv.Itoa(port), services: filepath.Join(root, "services.keytab"), bin: bin,
	}
	for path, text := range map[string]string{k.Config: k.clientConf(), filepath.Join(root, "kdc.conf"): k.serverConf(root)} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	env := []string{"KRB5_CONFIG=" + k.Config, "KRB5_KDC_PROFILE=" + filepath.Join(root, "kdc.conf")}
	if err := k.fill(env); err != nil {
		return nil, err
	}
	if k.proc, err = launch(watcher, root, env, nil, filepath.Join(bin, "krb5kdc"), "-n", "-P", filepath.Join(root, "pid")); err != nil {
		return nil, err
	}
	if err := k.proc.ready(k.answers); err != nil {
		k.proc.stop()
		return nil, fmt.Errorf("krb5: %w", err)
	}
	return k, nil
}

func (k *KDC) answers() error {
	c, err := net.DialTimeout("tcp", k.Addr, time.Second)
	if err != nil {
		return err
	}
	return c.Close()
}

// clientConf returns a configuration with the center's address, which looks up no names.
func (k *KDC) clientConf() string {
	return fmt.Sprintf(`[libdefaults]
 default_realm = %[1]s
 dns_lookup_kdc = false
 dns_lookup_realm = false
 dns_canonicalize_hostname = false
 rdns = false
 udp_preference_limit = 1
 permitted_enctypes = aes256-cts-hmac-sha1-96 aes128-cts-hmac-sha1-96
[realms]
 %[1]s = {
  kdc = %[2]s
 }
[domain_realm]
 localhost = %[1]s
`, k.Realm, k.Addr)
}

func (k *KDC) serverConf(root string) string {
	return fmt.Sprintf(`[kdcdefaults]
 kdc_listen = %[3]s
 kdc_tcp_listen = %[3]s
[realms]
 %[1]s = {
  database_name = %[2]s/principal
  key_stash_file = %[2]s/stash
  max_life = 1d
  max_renewable_life = 7d
  supported_enctypes = aes256-cts-hmac-sha1-96:normal aes128-cts-hmac-sha1-96:normal
 }
[logging]
 kdc = FILE:%[2]s/log
`, k.Realm, data(root), k.Addr)
}

func (k *KDC) fill(env []string) error {
	script := strings.Join([]string{
		"addprinc -randkey alice", "ktadd -norandkey -k " + k.Keytab + " alice",
		"addprinc -randkey hdfs/localhost", "ktadd -norandkey -k " + k.services + " hdfs/localhost",
		"addprinc -randkey HTTP/localhost", "ktadd -norandkey -k " + k.services + " HTTP/localhost",
	}, "\n") + "\n"
	if err := k.tool(env, "", "kdb5_util", "create", "-s", "-r", k.Realm, "-P", "master"); err != nil {
		return err
	}
	return k.tool(env, script, "kadmin.local", "-r", k.Realm)
}

func (k *KDC) tool(env []string, input, name string, args ...string) error {
	cmd := exec.Command(filepath.Join(k.bin, name), args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin = strings.NewReader(input)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, out)
	}
	return nil
}

// CCache makes a ticket cache of the user that is valid for some time, and returns its path. Kinit
// replaces it in place.
func (k *KDC) CCache(t testing.TB, life time.Duration) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ccache")
	k.Kinit(t, path, life)
	return path
}

// Kinit writes a fresh ticket of the user into a cache.
func (k *KDC) Kinit(t testing.TB, ccache string, life time.Duration) {
	t.Helper()
	cmd := exec.Command("kinit", "-k", "-t", k.Keytab, "-c", "FILE:"+ccache, "-l", fmt.Sprintf("%ds", int(life.Seconds())), k.Principal)
	cmd.Env = append(os.Environ(), "KRB5_CONFIG="+k.Config)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("kinit: %v: %s", err, out)
	}
}

// hadoop is the configuration of secure daemons, whose data transfers are only authenticated.
func (k *KDC) hadoop() map[string]string {
	daemon, web := "hdfs/localhost@"+k.Realm, "HTTP/localhost@"+k.Realm
	return map[string]string{
		"mini.host":                                     "localhost",
		"hadoop.security.authentication":                "kerberos",
		"hadoop.rpc.protection":                         "authentication",
		"dfs.data.transfer.protection":                  "authentication",
		"dfs.block.access.token.enable":                 "true",
		"ignore.secure.ports.for.testing":               "true", // else a secure datanode wants ports below 1024
		"dfs.namenode.kerberos.principal":               daemon,
		"dfs.namenode.keytab.file":                      k.services,
		"dfs.datanode.kerberos.principal":               daemon,
		"dfs.datanode.keytab.file":                      k.services,
		"dfs.web.authentication.kerberos.principal":     web,
		"dfs.web.authentication.kerberos.keytab":        k.services,
		"hadoop.http.authentication.type":               "kerberos",
		"hadoop.http.authentication.kerberos.principal": web,
		"hadoop.http.authentication.kerberos.keytab":    k.services,
	}
}

// javaEnv points the daemons to the center.
func (k *KDC) javaEnv() []string {
	return []string{"HDFSMINI_JAVA_OPTS=-Djava.security.krb5.conf=" + k.Config + " " + os.Getenv("HDFSMINI_JAVA_OPTS")}
}
