package webhdfs

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/servertest"
	"github.com/shardfeed/shardfeed/shard"
)

// TestServerRights: a file can be read by its inode with the rights of its name, and only with
// these.
func TestServerRights(t *testing.T) {
	c := servertest.HDFS(t, servertest.HDFSOptions{Conf: map[string]string{"dfs.permissions.enabled": "true"}})
	dir := c.Dir(t)
	all := content(100_000)
	c.Put(t, dir+"/d/a", all)
	c.Command(t, "chmod "+dir+" 755")
	c.Command(t, "chmod "+dir+"/d 755")
	s := newStore(t, Options{User: "bob"})
	uri := "webhdfs://" + c.HTTP[0] + dir + "/d/a"
	c.Command(t, "chmod "+dir+"/d/a 644")
	sh := find(t, s, uri)
	o := open(t, s, uri)
	expect(t, o, all, 0, len(all))
	for _, c := range s.clusters {
		if c.byName.Load() {
			t.Error("the file was not read by its inode")
		}
	}
	denied := func(err error) {
		t.Helper()
		if !errors.Is(err, shard.ErrDenied) || !strings.Contains(err.Error(), "user=bob") || !strings.HasPrefix(err.Error(), uri) {
			t.Errorf("error %v", err)
		}
	}
	c.Command(t, "chmod "+dir+"/d/a 600")
	denied(o.ReadAt(t.Context(), make([]byte, 10), 0))
	c.Command(t, "chmod "+dir+"/d/a 644")
	c.Command(t, "chmod "+dir+"/d 700")
	denied(o.ReadAt(t.Context(), make([]byte, 10), 0))
	_, err := s.List(t.Context(), uri)
	denied(err)
	c.Command(t, "chmod "+dir+"/d 755")
	if again := find(t, s, uri); again.Version != sh.Version {
		t.Errorf("rights change the version from %s to %s", sh.Version, again.Version)
	}
	expect(t, o, all, 0, len(all))
}

// TestServerSnapshot: a file in a snapshot has the inode of the file that it was, which may hold
// other bytes now.
func TestServerSnapshot(t *testing.T) {
	f := newFixture(t, Options{})
	one, two := content(5000), content(5001)
	f.Write(t, "a", one)
	put(t, f.cluster.HTTP[0], f.dir+"?op=ALLOWSNAPSHOT")
	put(t, f.cluster.HTTP[0], f.dir+"?op=CREATESNAPSHOT&snapshotname=s1")
	t.Cleanup(func() {
		request(t, http.MethodDelete, f.cluster.HTTP[0], f.dir+"?op=DELETESNAPSHOT&snapshotname=s1")
		put(t, f.cluster.HTTP[0], f.dir+"?op=DISALLOWSNAPSHOT")
	})
	f.Write(t, "a", two)
	expect(t, open(t, f.store, f.Address(".snapshot/s1/a")), one, 0, len(one))
	expect(t, open(t, f.store, f.Address("a")), two, 0, len(two))
	f.Remove(t, "a")
	expect(t, open(t, f.store, f.Address(".snapshot/s1/a")), one, 0, len(one))
}

// TestServerSameInode: what changes a file in its place is noticed though its inode stays.
func TestServerSameInode(t *testing.T) {
	f := newFixture(t, Options{RetryFor: 5 * time.Second})
	all := content(5000)
	for change, method := range map[string]string{
		"op=SETTIMES&modificationtime=1700000000000": http.MethodPut,
		"op=TRUNCATE&newlength=100":                  http.MethodPost,
		"op=TRUNCATE&newlength=4000":                 http.MethodPost,
	} {
		t.Run(change, func(t *testing.T) {
			f.Write(t, "a", all)
			sh := find(t, f.store, f.Address("a"))
			o, err := f.store.Open(t.Context(), sh)
			if err != nil {
				t.Fatal(err)
			}
			expect(t, o, all, 0, len(all))
			request(t, method, f.cluster.HTTP[0], f.dir+"/a?"+change)
			err = o.ReadAt(t.Context(), make([]byte, 1000), 2000)
			if !errors.Is(err, shard.ErrChanged) || strings.Count(err.Error(), "modified at") != 2 {
				t.Errorf("error %v", err)
			}
		})
	}
}

func put(t *testing.T, address, path string) { request(t, http.MethodPut, address, path) }

// request asks a namenode to change something.
func request(t *testing.T, method, address, path string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := http.NewRequest(method, "http://"+address+apiRoot+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", path, answer.Status)
	}
}
