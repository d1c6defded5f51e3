package servertest

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/spnego"
)

func TestServerKerberos(t *testing.T) {
	k := Kerberos(t)
	ccache := k.CCache(t, time.Hour)
	list := exec.Command("klist", "-c", ccache)
	list.Env = append(os.Environ(), "KRB5_CONFIG="+k.Config)
	if out, err := list.CombinedOutput(); err != nil || !strings.Contains(string(out), "Default principal: "+k.Principal) {
		t.Errorf("klist: %v: %s", err, out)
	}
	if Kerberos(t) != k {
		t.Error("the second center is another")
	}
}

// login is a client with the user's keytab.
func login(t *testing.T, k *KDC) *client.Client {
	t.Helper()
	conf, err := config.Load(k.Config)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := keytab.Load(k.Keytab)
	if err != nil {
		t.Fatal(err)
	}
	user, _, _ := strings.Cut(k.Principal, "@")
	c := client.NewWithKeytab(user, k.Realm, keys, conf, client.DisablePAFXFAST(true))
	if err := c.Login(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Destroy)
	return c
}

// TestServerHDFSKerberos reads by WebHDFS with a ticket, and is refused without; the second cluster
// encrypts what datanodes send.
func TestServerHDFSKerberos(t *testing.T) {
	k := Kerberos(t)
	user := login(t, k)
	for name, conf := range map[string]map[string]string{
		"authentication": nil,
		"privacy":        {"dfs.data.transfer.protection": "privacy", "hadoop.rpc.protection": "privacy", "dfs.encrypt.data.transfer.cipher.suites": "AES/CTR/NoPadding"},
	} {
		t.Run(name, func(t *testing.T) {
			c := HDFS(t, HDFSOptions{Kerberos: k, Conf: conf})
			path := c.Dir(t) + "/a"
			c.Put(t, path, []byte("secret"))
			if _, status := get(t, c.HTTP[0], path); status != http.StatusUnauthorized {
				t.Errorf("status %d without a ticket", status)
			}
			plain := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: ReadyWithin}
			resp, err := spnego.NewClient(user, plain, "HTTP/localhost").Get("http://" + c.HTTP[0] + "/webhdfs/v1" + path + "?op=OPEN")
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if text, err := io.ReadAll(resp.Body); err != nil || string(text) != "secret" {
				t.Errorf("status %d, %q, %v", resp.StatusCode, text, err)
			}
		})
	}
}
