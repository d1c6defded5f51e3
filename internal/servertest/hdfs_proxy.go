package servertest

import (
	"errors"
	"fmt"
	"strings"
)

// behind is where datanodes with a proxy listen. They are announced under 127.0.0.1, where the
// proxy has the same ports.
const behind = "127.0.0.2"

// Proxies are in front of the daemons of a cluster, by their numbers, for clients and for datanodes
// among each other.
type Proxies struct {
	RPC, HTTP                   []*Proxy // of the namenodes
	Datanodes, DatanodeGateways []*Proxy // of the datanodes: transfers, and WebHDFS
}

func (p *Proxies) close() {
	if p == nil {
		return
	}
	for _, all := range [][]*Proxy{p.RPC, p.HTTP, p.Datanodes, p.DatanodeGateways} {
		for _, one := range all {
			one.Close()
		}
	}
}

// interpose starts the proxies and puts their addresses in the namenodes' place.
func (c *Cluster) interpose() error {
	c.Proxies = &Proxies{}
	for _, list := range []struct {
		addresses []string
		proxies   *[]*Proxy
	}{{c.RPC, &c.Proxies.RPC}, {c.HTTP, &c.Proxies.HTTP}} {
		for i, address := range list.addresses {
			p, err := StartProxy("127.0.0.1:0", address)
			if err != nil {
				return err
			}
			*list.proxies = append(*list.proxies, p)
			host, _, _ := strings.Cut(address, ":")
			_, port, _ := strings.Cut(p.Addr, ":")
			list.addresses[i] = host + ":" + port
		}
	}
	ports, err := c.Ask("dns")
	if err != nil {
		return err
	}
	for word := range strings.FieldsSeq(ports) {
		transfer, http, _ := strings.Cut(word, "/")
		if err := errors.Join(before(&c.Proxies.Datanodes, transfer), before(&c.Proxies.DatanodeGateways, http)); err != nil {
			return err
		}
	}
	return nil
}

// before starts a proxy before a datanode's port.
func before(list *[]*Proxy, port string) error {
	p, err := StartProxy("127.0.0.1:"+port, behind+":"+port)
	if err != nil {
		return fmt.Errorf("%w: %w", errEnded, err) // the port is taken: others are found at the next try
	}
	*list = append(*list, p)
	return nil
}
