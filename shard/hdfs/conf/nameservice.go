package conf

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
)

// The ports of a namenode that an address or a configuration leaves out.
const (
	rpcPort   = "8020"
	httpPort  = "9870"
	httpsPort = "9871"
)

// A Nameservice is the namenodes that serve one tree of files: one, or several of which one is
// active.
type Nameservice struct {
	Name string   // as in the address: a logical name, or host:port
	RPC  []string // host:port of each namenode

	plain, secure []string // host:port of each namenode's web server, by http and by https
	secureAlone   bool     // the web servers only speak https
}

// Web is the base address of each namenode's web server, as "http://host:port": by https when
// secure, else as the configuration has it.
func (n Nameservice) Web(secure bool) []string {
	scheme, addresses := "http://", n.plain
	if secure || n.secureAlone {
		scheme, addresses = "https://", n.secure
	}
	bases := make([]string, len(addresses))
	for i, a := range addresses {
		bases[i] = scheme + a
	}
	return bases
}

// Nameservices lists the logical names that the configuration knows, sorted.
func (c *Conf) Nameservices() []string {
	names := make(map[string]bool)
	for _, name := range c.list("dfs.nameservices") {
		names[name] = true
	}
	for key := range c.values {
		if name, ok := strings.CutPrefix(key, "dfs.ha.namenodes."); ok && name != "" {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// Nameservice returns the namenodes of the authority of an hdfs address: a logical name of the
// configuration, or a namenode's host[:port]. The authority "" means the one of fs.defaultFS.
func (c *Conf) Nameservice(authority string) (Nameservice, error) {
	if authority == "" {
		var err error
		if authority, err = c.defaultAuthority(); err != nil {
			return Nameservice{}, err
		}
	}
	if slices.Contains(c.Nameservices(), authority) {
		return c.logical(authority)
	}
	host, port, err := splitHost(authority, rpcPort)
	if err != nil {
		return Nameservice{}, c.wrong("%w", err)
	}
	n := Nameservice{Name: authority}
	c.append(&n, host, port, c.suffix(net.JoinHostPort(host, port)))
	return n, c.plausible(authority, host)
}

// plausible refuses a name without port and domain that is probably a misspelled nameservice.
func (c *Conf) plausible(authority, host string) error {
	known := c.Nameservices()
	if authority != host || strings.ContainsAny(host, ".:") || host == "localhost" || len(known) == 0 || c.knowsHost(host) {
		return nil
	}
	return c.wrong("it has no nameservice %q, only %s; a namenode is named with its port, as in %s:%s", authority,
		strings.Join(known, ", "), host, rpcPort)
}

func (c *Conf) knowsHost(host string) bool {
	for key := range c.values {
		if !strings.HasPrefix(key, "dfs.namenode.rpc-address") {
			continue
		}
		if h, _, err := splitHost(c.Get(key), rpcPort); err == nil && strings.EqualFold(h, host) {
			return true
		}
	}
	return false
}

// logical returns the namenodes of a nameservice, in the order in which the configuration has them.
func (c *Conf) logical(name string) (Nameservice, error) {
	n := Nameservice{Name: name}
	suffixes := []string{"." + name}
	if nodes := c.list("dfs.ha.namenodes." + name); len(nodes) > 0 {
		suffixes = nil
		for _, node := range nodes {
			suffixes = append(suffixes, "."+name+"."+node)
		}
	}
	for _, suffix := range suffixes {
		address := c.Get("dfs.namenode.rpc-address" + suffix)
		if address == "" && len(c.Nameservices()) == 1 && len(suffixes) == 1 {
			address = c.Get("dfs.namenode.rpc-address")
		}
		if address == "" {
			return Nameservice{}, c.wrong("the nameservice %s has no dfs.namenode.rpc-address%s", name, suffix)
		}
		host, port, err := splitHost(address, rpcPort)
		if err != nil {
			return Nameservice{}, c.wrong("dfs.namenode.rpc-address%s: %w", suffix, err)
		}
		c.append(&n, host, port, suffix)
	}
	return n, nil
}

// suffix returns the suffix of the properties of the namenode at an address: "", ".nameservice",
// ".nameservice.namenode", or "?" if the configuration does not know it.
func (c *Conf) suffix(rpc string) string {
	const key = "dfs.namenode.rpc-address"
	for _, name := range slices.Sorted(maps.Keys(c.values)) {
		suffix, ok := strings.CutPrefix(name, key)
		if !ok {
			continue
		}
		if host, port, err := splitHost(c.Get(name), rpcPort); err == nil && strings.EqualFold(net.JoinHostPort(host, port), rpc) {
			return suffix
		}
	}
	authority, err := c.defaultAuthority()
	if host, port, e := splitHost(authority, rpcPort); err == nil && e == nil && strings.EqualFold(net.JoinHostPort(host, port), rpc) {
		return "" // a cluster of one namenode, which fs.defaultFS names
	}
	return "?"
}

func (c *Conf) append(n *Nameservice, host, port, suffix string) {
	n.secureAlone = c.Get("dfs.http.policy") == "HTTPS_ONLY"
	n.RPC = append(n.RPC, net.JoinHostPort(host, port))
	n.plain = append(n.plain, c.web("dfs.namenode.http-address"+suffix, host, httpPort))
	n.secure = append(n.secure, c.web("dfs.namenode.https-address"+suffix, host, httpsPort))
}

// web is the address of a namenode's web server. Servers listen on 0.0.0.0, which leads nowhere:
// the namenode's own host is meant.
func (c *Conf) web(key, host, port string) string {
	h, p, err := splitHost(c.Get(key), port)
	if err != nil {
		return net.JoinHostPort(host, port)
	}
	if ip := net.ParseIP(h); ip != nil && ip.IsUnspecified() {
		h = host
	}
	return net.JoinHostPort(h, p)
}

func splitHost(address, byDefault string) (host, port string, err error) {
	switch {
	case address == "":
		return "", "", errors.New("no host is named")
	case strings.ContainsAny(address, "/@?# "):
		return "", "", errors.New("a namenode is named as host or host:port")
	}
	host, port, err = net.SplitHostPort(address)
	if err != nil {
		bare := strings.TrimSuffix(strings.TrimPrefix(address, "["), "]")
		if strings.Contains(bare, ":") && net.ParseIP(bare) == nil {
			return "", "", fmt.Errorf("%q is neither host nor host:port", address)
		}
		return bare, byDefault, nil
	}
	if port == "" {
		port = byDefault
	}
	if host == "" || strings.Trim(port, "0123456789") != "" || len(port) > 5 {
		return "", "", fmt.Errorf("%q is neither host nor host:port", address)
	}
	return host, port, nil
}
