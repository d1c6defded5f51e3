package hdfs

import (
	"context"
	"io/fs"
	"time"

	"github.com/colinmarc/hdfs/v2"
	"github.com/colinmarc/hdfs/v2/hadoopconf"

	"github.com/shardfeed/shardfeed/shard/driver"
	"github.com/shardfeed/shardfeed/shard/hdfs/wire"
)

// maxAge is how long a client is used: the key of encrypted transfers, which it keeps for ever,
// expires after some hours.
const maxAge = 8 * time.Hour

// A client is one of the library's, for one borrower at a time. It is never shared: the library's
// file readers and its first calls are not safe for concurrent use, and it dials without a context.
type client struct {
	*hdfs.Client
	meter      *driver.Meter
	dialer     *wire.Dialer
	namenodes  *namenodes
	end        context.CancelFunc // of the life of its connections
	born       time.Time
	generation uint64 // of its Kerberos client
}

// newClient connects to a namenode, the first in order that answers.
func newClient(ctx context.Context, c *cluster) (*client, error) {
	s := c.store
	setup, err := s.setup()
	if err != nil {
		return nil, err
	}
	life, end := context.WithCancel(context.Background())
	nn := &namenodes{timeout: s.options.ReadTimeout, life: life}
	made := &client{meter: c.meter, namenodes: nn, end: end, born: time.Now()}
	made.dialer = wire.NewDialer(wire.Options{
		DialTimeout: dialTimeout,
		Timeout:     s.options.ReadTimeout,
		AllowNull:   s.options.AllowUnverified,
		AllowOpaque: s.options.AllowUnverified,
		Counters:    &s.transfer,
		Meter:       c.meter,
		Peers:       &c.peers,
	})
	o := setup.clientOptions()
	o.Addresses, o.NamenodeDialFunc, o.DatanodeDialFunc = c.order(), nn.dial, made.dialer.DialContext
	if setup.kerberos != nil {
		o.KerberosServicePrincipleName = setup.principal
		if o.KerberosClient, made.generation, err = setup.kerberos.Client(ctx); err != nil {
			end()
			return nil, err
		}
	}
	defer nn.use(ctx)()
	if made.Client, err = hdfs.NewClient(o); err != nil {
		err = nn.explain(err)
		nn.close()
		end()
		return nil, err
	}
	return made, nil
}

// clientOptions are the library's. It makes them of a configuration, since one of them cannot be
// set otherwise: as in Hadoop, datanodes on privileged ports are trusted without a handshake where
// transfers are not encrypted.
func (s *setup) clientOptions() hdfs.ClientOptions {
	const encrypt = "dfs.encrypt.data.transfer"
	o := hdfs.ClientOptionsFromConf(hadoopconf.HadoopConf{encrypt: s.conf.Get(encrypt)})
	o.User = s.user
	o.UseDatanodeHostname = s.datanodeHostname
	o.DataTransferProtection = s.protection
	return o
}

// explain replaces the client's error by the namenode's own words.
func (n *namenodes) explain(err error) error {
	if _, fatal := n.learned(); fatal != nil && err != nil {
		return fatal
	}
	return err
}

// look opens a file or a directory.
func (c *client) look(ctx context.Context, path string) (*hdfs.FileReader, error) {
	measured := c.meter.Start(ctx, driver.LookRequest)
	f, err := c.Open(path)
	measured.End(err)
	return f, err
}

// stat describes a file or a directory.
func (c *client) stat(ctx context.Context, path string) (fs.FileInfo, error) {
	measured := c.meter.Start(ctx, driver.LookRequest)
	info, err := c.Stat(path)
	measured.End(err)
	return info, err
}

func (c *client) stale(generation uint64) bool {
	return time.Since(c.born) > maxAge || c.generation != generation
}

// close ends the client's connections first: it waits for a call that renews leases, and a mute
// namenode would make it wait long.
func (c *client) close() {
	c.end()
	c.namenodes.close()
	_ = c.Client.Close() // closes what is closed
}
