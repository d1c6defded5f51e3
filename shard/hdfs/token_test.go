package hdfs

import (
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/servertest"
)

// TestServerTokens: a read that takes longer than the tokens of its blocks hold gets new ones, and
// an object outlives them.
func TestServerTokens(t *testing.T) {
	c := servertest.HDFS(t, servertest.HDFSOptions{Proxied: true, Conf: map[string]string{"dfs.block.access.token.enable": "true"}})
	all := content(1, 4<<20)
	c.Put(t, "/x", all, "replication=1")
	s := newStore(t, quick(c))
	o := openOne(t, s, c.URI+"/x")
	c.Command(t, "tokenlife 1000")
	for _, p := range c.Proxies.Datanodes {
		p.Set(servertest.Faults{Rate: 2 << 20})
	}
	start := time.Now()
	if err := expect(t, o, all, 0, len(all)); err != nil {
		t.Error(err)
	}
	if took := time.Since(start); took > time.Minute {
		t.Errorf("it took %v", took)
	}
	if n := s.Traffic().Retries; n == 0 {
		t.Error("no token ended while the file was read")
	}
	for _, p := range c.Proxies.Datanodes {
		p.Set(servertest.Faults{})
	}
	time.Sleep(1500 * time.Millisecond)
	if err := expect(t, o, all, 1000, 2<<20); err != nil {
		t.Errorf("after a rest: %v", err)
	}
}
