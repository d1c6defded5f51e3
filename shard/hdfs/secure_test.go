package hdfs

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/servertest"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/hdfs/wire"
)

// krbOptions reach a secure cluster from a keytab.
func krbOptions(c *servertest.Cluster, k *servertest.KDC) Options {
	o := serverOptions(c)
	o.User = ""
	o.Krb5Conf = k.Config
	o.Keytab = k.Keytab
	return o
}

// TestServerKerberos reads from a cluster that authenticates: from a keytab, and from a ticket
// cache.
func TestServerKerberos(t *testing.T) {
	k := servertest.Kerberos(t)
	c := servertest.HDFS(t, servertest.HDFSOptions{Kerberos: k})
	all := content(1, 5<<20)
	path := c.Dir(t) + "/x"
	c.Put(t, path, all)
	fromCache := krbOptions(c, k)
	fromCache.Keytab, fromCache.CCache = "", k.CCache(t, time.Hour)
	for name, o := range map[string]Options{"keytab": krbOptions(c, k), "ccache": fromCache} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, o)
			o := openOne(t, s, c.URI+path)
			for _, r := range [][2]int{{0, len(all)}, {1<<20 - 3, 7}, {1000, 3 << 20}} {
				if err := expect(t, o, all, r[0], r[1]); err != nil {
					t.Error(err)
				}
			}
			if s.transfer.Packets.Load() == 0 {
				t.Error("nothing was verified")
			}
			facts, err := s.Explain(t.Context(), c.URI+path)
			if err != nil || !strings.Contains(facts[1].Value, "alice") {
				t.Errorf("%v, %v", facts, err)
			}
		})
	}
	b := c.Blocks(t, path)[1]
	for _, n := range b.Nodes {
		c.FlipBlock(t, n, b.Name, 600_000)
	}
	if err := expect(t, openOne(t, newStore(t, krbOptions(c, k)), c.URI+path), all, 0, len(all)); !errors.Is(err, wire.ErrChecksum) {
		t.Errorf("all replicas are bad: %v", err)
	}
	simple := serverOptions(c)
	simple.Conf = map[string]string{"hadoop.security.authentication": "simple"}
	simple.RetryFor = time.Second
	_, err := newStore(t, simple).List(t.Context(), c.URI+path)
	if !errors.Is(err, shard.ErrDenied) || !strings.Contains(err.Error(), "Kerberos") {
		t.Errorf("without a ticket: %v", err)
	}
}

// TestServerPrivacy: what is encrypted on its way cannot be verified, so that it is read by
// WebHDFS; natively it is with the user's word.
func TestServerPrivacy(t *testing.T) {
	k := servertest.Kerberos(t)
	c := servertest.HDFS(t, servertest.HDFSOptions{Kerberos: k, Conf: map[string]string{
		"dfs.data.transfer.protection": "privacy", "hadoop.rpc.protection": "privacy", "dfs.encrypt.data.transfer.cipher.suites": "AES/CTR/NoPadding",
	}})
	all := content(1, 3<<20)
	path := c.Dir(t) + "/x"
	c.Put(t, path, all)
	fromCache := krbOptions(c, k)
	fromCache.Keytab, fromCache.CCache = "", k.CCache(t, time.Hour)
	for name, o := range map[string]Options{"keytab": krbOptions(c, k), "ccache": fromCache} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, o)
			if err := expect(t, openOne(t, s, c.URI+path), all, 5, len(all)-5); err != nil {
				t.Errorf("%v", err)
			}
			if s.web.Traffic().Reads == 0 || s.Traffic().ReadBytes != 0 {
				t.Errorf("not by WebHDFS: %+v", s.web.Traffic())
			}
		})
	}
	err := expect(t, openOne(t, newStore(t, noWeb(krbOptions(c, k))), c.URI+path), all, 0, 100)
	if err == nil || !strings.Contains(err.Error(), "hdfs.allow_unverified") {
		t.Errorf("without WebHDFS: %v", err)
	}
	allowed := krbOptions(c, k)
	allowed.AllowUnverified = true
	warned := ""
	allowed.Events.Warn = func(text string) { warned += text }
	s := newStore(t, allowed)
	if err := expect(t, openOne(t, s, c.URI+path), all, 5, len(all)-5); err != nil {
		t.Errorf("allowed: %v", err)
	}
	if s.web.Traffic().Reads != 0 || !strings.Contains(warned, "not verified") {
		t.Errorf("allowed: by WebHDFS, or without a word: %q", warned)
	}
}

// TestServerIntegrity: what a namenode signs is looked into all the same: a file that is being
// written is refused, and blocks are known.
func TestServerIntegrity(t *testing.T) {
	k := servertest.Kerberos(t)
	c := servertest.HDFS(t, servertest.HDFSOptions{Kerberos: k, Conf: map[string]string{"hadoop.rpc.protection": "integrity"}})
	all := content(1, 2<<20)
	dir := c.Dir(t)
	c.Open(t, dir+"/open", all[:1<<20+1])
	defer c.Close(t, dir+"/open")
	c.Put(t, dir+"/x", all)
	s := newStore(t, krbOptions(c, k))
	if err := expect(t, openOne(t, s, c.URI+dir+"/x"), all, 0, len(all)); err != nil {
		t.Error(err)
	}
	p, err := s.Place(t.Context(), one(t, s, c.URI+dir+"/x"))
	if err != nil || len(p.Blocks) != 2 {
		t.Errorf("%+v, %v", p, err)
	}
	sh := one(t, s, c.URI+dir+"/open")
	o, err := s.Open(t.Context(), sh)
	if err == nil {
		err = o.ReadAt(t.Context(), make([]byte, sh.Size), 0)
	}
	if !errors.Is(err, ErrUnfinished) {
		t.Errorf("being written, %d bytes so far: %v", sh.Size, err)
	}
}

// TestServerSigned: transfers that are signed are read by WebHDFS, also with the user's word for
// the native way, which loses count in them.
func TestServerSigned(t *testing.T) {
	k := servertest.Kerberos(t)
	c := servertest.HDFS(t, servertest.HDFSOptions{Kerberos: k, Conf: map[string]string{"dfs.data.transfer.protection": "integrity"}})
	all := content(1, 2<<20)
	path := c.Dir(t) + "/x"
	c.Put(t, path, all)
	for _, word := range []bool{false, true} {
		o := krbOptions(c, k)
		o.AllowUnverified = word
		s := newStore(t, o)
		if err := expect(t, openOne(t, s, c.URI+path), all, 7, len(all)-7); err != nil || s.web.Traffic().Reads == 0 {
			t.Errorf("allowed %v: %v, %+v", word, err, s.web.Traffic())
		}
	}
}
