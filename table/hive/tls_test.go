package hive_test

import (
	"crypto/tls"
	"encoding/pem"
	"errors"
	"net"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/table"
	"github.com/shardfeed/shardfeed/table/hive"
	"github.com/shardfeed/shardfeed/table/internal/thrift"
)

// A metastore with TLS is asked if its certificate is known.
func TestTLS(t *testing.T) {
	certified := httptest.NewTLSServer(nil)
	t.Cleanup(certified.Close)
	bundle := t.TempDir() + "/ca.pem"
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certified.Certificate().Raw})
	if err := os.WriteFile(bundle, block, 0o600); err != nil {
		t.Fatal(err)
	}
	s := newServer(t, described("id bigint", ""))
	host := listen(t, func(conn net.Conn) {
		_ = thrift.Serve(tls.Server(conn, &tls.Config{Certificates: certified.TLS.Certificates}), s.answer)
	})
	open := func(o hive.Options) error {
		_, err := hive.Open(t.Context(), "hive://"+host+"/db.t", o, table.Options{Store: files{}})
		return err
	}
	if err := open(hive.Options{TLS: true, CABundle: bundle}); err != nil {
		t.Error(err)
	}
	if err := open(hive.Options{TLS: true}); !errors.Is(err, shard.ErrDenied) {
		t.Errorf("without its certificate: %v", err)
	}
	if err := open(hive.Options{}); err == nil {
		t.Error("it is asked without TLS")
	}
}
