package hive

import (
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/shardfeed/shardfeed/shard"
)

// Scheme starts the addresses of tables in metastores.
const Scheme = "hive"

const defaultPort = "9083"

// An address is hive://HOST[:PORT][,HOST[:PORT]...]/DATABASE.TABLE.
type address struct {
	hosts           []string // with ports
	database, table string
}

func parseAddress(text string) (a address, err error) {
	_, rest := shard.SplitScheme(text)
	hosts, path, _ := strings.Cut(rest, "/")
	for host := range strings.SplitSeq(hosts, ",") {
		if host == "" || strings.ContainsAny(host, "@?#") {
			return address{}, badAddress()
		}
		if _, _, err := net.SplitHostPort(host); err != nil {
			host = net.JoinHostPort(strings.Trim(host, "[]"), defaultPort)
		}
		a.hosts = append(a.hosts, host)
	}
	database, table, _ := strings.Cut(strings.TrimRight(path, "/"), ".")
	if a.database, err = url.PathUnescape(database); err != nil {
		return address{}, badAddress()
	}
	if a.table, err = url.PathUnescape(table); err != nil || a.database == "" || a.table == "" || strings.ContainsAny(table, "./") {
		return address{}, badAddress()
	}
	return a, nil
}

func badAddress() error {
	return fmt.Errorf("%w: a table of a metastore is hive://HOST:PORT/DATABASE.TABLE", shard.ErrBadURI)
}
