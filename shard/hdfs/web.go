package hdfs

import (
	"time"

	"github.com/shardfeed/shardfeed/shard/hdfs/conf"
	"github.com/shardfeed/shardfeed/shard/hdfs/krb"
	"github.com/shardfeed/shardfeed/shard/hdfs/webhdfs"
)

// WebHDFS returns the store of webhdfs:// and swebhdfs:// addresses, with the same configuration
// and credentials. It is closed with s.
func (s *Store) WebHDFS() *webhdfs.Store { return s.web }

// newWeb makes the store; retryFor is as it was given, since its default depends on what fails.
func (s *Store) newWeb(retryFor time.Duration) *webhdfs.Store {
	o := s.options
	datanodeHost, _ := o.datanodeHost() // what is wrong with it, Validate says at the first use
	return webhdfs.New(webhdfs.Options{
		Setup: func() (*conf.Conf, *krb.Source, error) {
			setup, err := s.setup()
			if err != nil {
				return nil, nil, err
			}
			return setup.conf, setup.kerberos, nil
		},
		User:         o.User,
		Password:     o.Password,
		Delegation:   o.Delegation,
		TokenFile:    o.TokenFile,
		Gateway:      o.Gateway,
		DatanodeHost: datanodeHost,
		CABundle:     o.CABundle,
		Proxy:        o.Proxy,
		ReadTimeout:  o.ReadTimeout,
		RetryFor:     retryFor,
		Listed:       o.Events.Listed,
		Waiting:      o.Events.Waiting,
	})
}

// bases returns the WebHDFS addresses of the cluster's namenodes that are known.
func (c *cluster) bases() []string {
	if given := c.store.options.WebHDFS; given != "" {
		return []string{given}
	}
	if setup, err := c.store.setup(); err != nil || !setup.conf.Bool("dfs.webhdfs.enabled", true) {
		return nil
	}
	return c.ns.Web(false)
}
