package azure

import (
	"github.com/shardfeed/shardfeed/shard/cloud"
	"github.com/shardfeed/shardfeed/shard/web"
)

// New returns a store of az://, abfs(s):// and wasb(s):// addresses. It reads no file and asks no
// server before the first use.
func New(o Options) *cloud.Store {
	return o.store(func() (cloud.Service, error) { return o.service() })
}

func (o Options) service() (*service, error) {
	s, err := o.settings()
	if err != nil {
		return nil, err
	}
	return &service{settings: s}, nil
}

func (o Options) store(start func() (cloud.Service, error)) *cloud.Store {
	return cloud.New(cloud.Options{
		Locate: locate,
		Start:  start,
		Lend:   o.lend,
		Web:    web.Options{CABundle: o.CABundle, Proxy: o.Proxy, RetryFor: o.RetryFor, Waiting: o.Waiting},
		Listed: o.Listed,
	})
}
