package hive

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/driver/connect"
	"github.com/shardfeed/shardfeed/table/internal/thrift"
)

// A metastore is a connection to a server.
type metastore struct {
	host    string
	conn    net.Conn
	client  *thrift.Client
	timeout time.Duration // that the options give; 0: the defaults
	calls   int           // that were answered
	leave   func() bool   // the context
}

// dial connects to the first host that answers.
func dial(ctx context.Context, hosts []string, o Options) (*metastore, error) {
	var errs []error
	for _, host := range hosts {
		conn, err := o.dial(ctx, host)
		if err == nil {
			m := &metastore{host: host, conn: conn, client: thrift.NewClient(conn), timeout: o.Timeout}
			m.leave = context.AfterFunc(ctx, func() { conn.Close() })
			if !o.Kerberos {
				return m, nil
			}
			if err = m.authenticate(ctx, o); err == nil {
				return m, nil
			}
			m.close()
		}
		errs = append(errs, err)
		if ctx.Err() != nil {
			break
		}
	}
	return nil, errors.Join(errs...)
}

func (o Options) dial(ctx context.Context, host string) (net.Conn, error) {
	d := net.Dialer{Timeout: dialTimeout}
	if !o.TLS {
		conn, err := d.DialContext(ctx, "tcp", host)
		if err != nil {
			return nil, connect.Lost(ctx, host, err)
		}
		return conn, nil
	}
	name, _, _ := net.SplitHostPort(host)
	config, err := o.tls(name)
	if err != nil {
		return nil, err
	}
	conn, err := (&tls.Dialer{NetDialer: &d, Config: config}).DialContext(ctx, "tcp", host)
	if plain := (tls.RecordHeaderError{}); errors.As(err, &plain) {
		return nil, fmt.Errorf("%w: %s does not speak TLS: leave %s out", shard.ErrBadURI, host, useTLS)
	}
	if err != nil {
		return nil, connect.Lost(ctx, host, err)
	}
	return conn, nil
}

func (m *metastore) close() {
	m.leave()
	m.conn.Close()
}

// Exceptions of the metastore's methods by their fields in results.
const (
	result       = 0
	noSuchObject = 2 // of the methods that are called here; 1 is any other failure
)

var errNoObject = fmt.Errorf("%w: the metastore has no such object", shard.ErrNotExist)

// call calls a method and returns its result.
func (m *metastore) call(ctx context.Context, method string, args thrift.Struct) (any, error) {
	if err := m.conn.SetDeadline(time.Now().Add(m.patience())); err != nil {
		return nil, connect.Lost(ctx, m.host, err)
	}
	results, err := m.client.Call(method, args)
	if refused := (*thrift.Exception)(nil); errors.As(err, &refused) {
		m.calls++
		return nil, err
	}
	if err != nil {
		return nil, m.lost(ctx, err)
	}
	m.calls++
	if r, ok := results[result]; ok {
		return r, nil
	}
	for id, e := range results {
		e, _ := e.(thrift.Struct)
		if id == noSuchObject {
			return nil, errNoObject
		}
		return nil, fmt.Errorf("%w: the metastore %s answered %s: %s", shard.ErrTransient, m.host, method, e.Text(1))
	}
	return nil, fmt.Errorf("%w: the metastore %s answered %s with nothing", shard.ErrCorrupt, m.host, method)
}

// patience is how long a call may take. The first one asks for little, and servers of other
// protocols never answer it.
func (m *metastore) patience() time.Duration {
	if m.calls == 0 {
		return cmp.Or(m.timeout, firstTimeout)
	}
	return cmp.Or(m.timeout, defaultTimeout)
}

// lost is the error of a connection that ended.
func (m *metastore) lost(ctx context.Context, err error) error {
	timedOut := net.Error(nil)
	switch {
	case ctx.Err() != nil:
	case errors.As(err, &timedOut) && timedOut.Timeout() && m.calls == 0:
		return fmt.Errorf("%w: %s did not answer within %v: it may not be a metastore, whose port is often 9083, or want TLS (%s=true) or Kerberos (%s=true); "+
			"%s gives it longer", shard.ErrTransient, m.host, m.patience(), useTLS, useSASL, timeout)
	case errors.As(err, &timedOut) && timedOut.Timeout():
		return fmt.Errorf("%w: %s did not answer within %v", shard.ErrTransient, m.host, m.patience())
	case errors.Is(err, thrift.ErrDamaged):
		return fmt.Errorf("%w: %s is not a Hive metastore: %w", shard.ErrBadURI, m.host, err)
	case m.calls == 0:
		return fmt.Errorf("%w: %s ended the connection (%w): it may want TLS (%s=true) or Kerberos (%s=true), or not be a metastore",
			shard.ErrTransient, m.host, err, useTLS, useSASL)
	}
	return connect.Lost(ctx, m.host, err)
}

// table asks for a table, by the method that old metastores have if they do not know the new one.
func (m *metastore) table(ctx context.Context, a address) (thrift.Struct, error) {
	r, err := m.call(ctx, "get_table_req", thrift.Struct{1: thrift.Struct{1: a.database, 2: a.table}})
	if refused := (*thrift.Exception)(nil); errors.As(err, &refused) && refused.Type == thrift.UnknownMethod {
		r, err = m.call(ctx, "get_table", thrift.Struct{1: a.database, 2: a.table})
	} else if answer, ok := r.(thrift.Struct); ok {
		r = answer.Struct(1)
	}
	if errors.Is(err, errNoObject) {
		return nil, m.noTable(ctx, a)
	}
	if err != nil {
		return nil, err
	}
	t, _ := r.(thrift.Struct)
	if t.Text(1) == "" {
		return nil, fmt.Errorf("%w: the metastore %s answered without a table", shard.ErrCorrupt, m.host)
	}
	return t, nil
}

// noTable is the error of a table that does not exist, with the names of others.
func (m *metastore) noTable(ctx context.Context, a address) error {
	tables := m.names(ctx, "get_all_tables", thrift.Struct{1: a.database})
	if tables != "" {
		return fmt.Errorf("%w: no table %s.%s: the database has %s", shard.ErrNotExist, a.database, a.table, tables)
	}
	databases := m.names(ctx, "get_all_databases", nil)
	return fmt.Errorf("%w: no table %s.%s: the database has no tables or does not exist; the metastore has the databases %s",
		shard.ErrNotExist, a.database, a.table, cmp.Or(databases, "(none)"))
}

const maxNames = 20

// names asks for names and returns them as a text, which may be "".
func (m *metastore) names(ctx context.Context, method string, args thrift.Struct) string {
	r, err := m.call(ctx, method, args)
	if err != nil {
		return ""
	}
	all := thrift.Struct{result: r}.Texts(result)
	slices.Sort(all)
	if len(all) > maxNames {
		return fmt.Sprintf("%s and %d more", strings.Join(all[:maxNames], ", "), len(all)-maxNames)
	}
	return strings.Join(all, ", ")
}

// batch is the number of partitions that are asked for at once, as Hive's own clients do.
const batch = 300

// partitions asks for all partitions of a table.
func (m *metastore) partitions(ctx context.Context, a address) (all []thrift.Struct, err error) {
	const noLimit = int16(-1)
	r, err := m.call(ctx, "get_partition_names", thrift.Struct{1: a.database, 2: a.table, 3: noLimit})
	if err != nil {
		return nil, err
	}
	names := thrift.Struct{result: r}.Texts(result)
	for some := range slices.Chunk(names, batch) {
		r, err := m.call(ctx, "get_partitions_by_names", thrift.Struct{1: a.database, 2: a.table, 3: some})
		if err != nil {
			return nil, err
		}
		all = append(all, thrift.Struct{result: r}.Structs(result)...)
	}
	return all, nil
}
