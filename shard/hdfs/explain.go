package hdfs

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/shardfeed/shardfeed/shard"
)

// explainFor is how long Explain waits for a namenode.
const explainFor = 5 * time.Second

// Explain describes the connection to an address, including its failures.
func (s *Store) Explain(ctx context.Context, uri string) ([]shard.Fact, error) {
	var facts []shard.Fact
	say := func(name, format string, a ...any) {
		facts = append(facts, shard.Fact{Name: name, Value: fmt.Sprintf(format, a...)})
	}
	setup, err := s.setup()
	if err != nil {
		say("configuration", "%v", err)
		return facts, nil
	}
	say("configuration", "%s", cmp.Or(setup.conf.Dir(), "none: HADOOP_CONF_DIR and HADOOP_HOME are not set"))
	if setup.kerberos != nil {
		say("user", "by Kerberos: %s", setup.kerberos.Describe())
		say("namenodes' principal", "%s", setup.principal)
	} else {
		say("user", "%s, without Kerberos", setup.user)
	}
	p, err := s.locate(uri)
	if err != nil {
		say("address", "%v", err)
		return facts, nil
	}
	say("path", "%s of %s", p.path, p.cluster.ns.Name)
	say("namenodes", "%s", strings.Join(p.cluster.ns.RPC, ", "))
	say("webhdfs", "%s", cmp.Or(strings.Join(p.cluster.bases(), ", "), "no address is known"))
	say("data protection", "%s", cmp.Or(setup.protection, "as the cluster has it"))
	say("namenode", "%s", s.tryNamenode(ctx, p))
	say("verification", "%s", s.verification(p.cluster))
	return facts, ctx.Err()
}

// tryNamenode sends a small request to a namenode and describes the result. It also records whether
// the cluster encrypts transfers.
func (s *Store) tryNamenode(ctx context.Context, p location) string {
	ctx, cancel := context.WithTimeout(ctx, explainFor)
	defer cancel()
	answer := ""
	start := time.Now()
	err := p.cluster.use(ctx, func(_ context.Context, c *client) error {
		defaults, err := c.ServerDefaults()
		if err != nil {
			return err
		}
		if defaults.EncryptDataTransfer {
			p.cluster.opaque.Store(!s.options.AllowUnverified)
		}
		answer = fmt.Sprintf("%s answered within %v", c.namenodes.addr(), time.Since(start).Round(100*time.Microsecond))
		return nil
	})
	if err != nil {
		return fmt.Sprintf("does not answer: %v", classify(err))
	}
	return answer
}

// verification describes the checks of bytes in transit.
func (s *Store) verification(c *cluster) string {
	setup, _ := s.setup()
	switch encrypted := c.opaque.Load() || setup.protection == "privacy" || setup.protection == "integrity"; {
	case s.options.AllowUnverified:
		return "each packet, but what cannot be verified is read all the same (hdfs.allow_unverified)"
	case encrypted && len(c.bases()) > 0:
		return "by the datanode: transfers are encrypted, so that files are read by WebHDFS"
	case encrypted:
		return "impossible: transfers are encrypted, and no address for WebHDFS is known; files are refused"
	}
	return "each packet, before a byte of it is used"
}
