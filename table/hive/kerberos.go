package hive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/hdfs/krb"
	"github.com/shardfeed/shardfeed/table/internal/sasl"
	"github.com/shardfeed/shardfeed/table/internal/thrift"
)

// authenticate makes the connection one of a user of Kerberos.
func (m *metastore) authenticate(ctx context.Context, o Options) error {
	getenv := o.Getenv
	if getenv == nil {
		getenv = os.Getenv
	}
	source, err := krb.New(o.Login, getenv)
	if err != nil {
		return err
	}
	defer source.Close()
	user, _, err := source.Client(ctx)
	if err != nil {
		return err
	}
	if err := m.conn.SetDeadline(time.Now().Add(m.patience())); err != nil {
		return m.lost(ctx, err)
	}
	name, _, _ := net.SplitHostPort(m.host)
	principal := servicePrincipal(o.Principal, name)
	frames, err := sasl.Client(m.conn, principal, user)
	switch refused := (*krb.Error)(nil); {
	case errors.As(err, &refused):
		return fmt.Errorf("%w (the ticket is for %s, see %s)", err, principal, service)
	case errors.Is(err, sasl.ErrRefused):
		return fmt.Errorf("%s: %w: see whether %s is its principal (%s)", m.host, err, principal, service)
	case errors.Is(err, sasl.ErrForeign):
		return fmt.Errorf("%w: %s: %w: it may do without Kerberos (%s=false)", shard.ErrBadURI, m.host, err, useSASL)
	case err != nil:
		return m.lost(ctx, err)
	}
	m.client = thrift.NewClient(frames)
	return nil
}

// servicePrincipal returns the principal of the metastore on a host. krb5.conf has the realm
// of the host.
func servicePrincipal(principal, host string) string {
	principal, _, _ = strings.Cut(cmp.Or(principal, "hive/_HOST"), "@")
	return strings.Replace(principal, "_HOST", strings.ToLower(host), 1)
}
