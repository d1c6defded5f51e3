package webhdfs

import (
	"fmt"
	"net"
	"strings"
)

// ParseDatanodeMap reads translations of datanodes' addresses for Options.DatanodeHost,
// "dn1:9864=127.0.0.1:19864,dn2=dn2.example.com". An address with a port takes precedence; a host
// without one keeps its port. Other addresses are not changed.
func ParseDatanodeMap(text string) (func(hostport string) string, error) {
	to := make(map[string]string)
	for pair := range strings.SplitSeq(text, ",") {
		from, target, ok := strings.Cut(strings.TrimSpace(pair), "=")
		if !ok || from == "" || target == "" {
			return nil, fmt.Errorf("%q does not map a datanode's address, as dn1:9864=127.0.0.1:19864 does", strings.TrimSpace(pair))
		}
		to[strings.ToLower(from)] = target
	}
	return func(hostport string) string {
		if target, ok := to[strings.ToLower(hostport)]; ok {
			return target
		}
		host, port, err := net.SplitHostPort(hostport)
		target, ok := to[strings.ToLower(host)]
		if err != nil || !ok {
			return hostport
		}
		if _, _, err := net.SplitHostPort(target); err == nil {
			return target
		}
		return net.JoinHostPort(target, port)
	}, nil
}
