package shardfeed

import (
	"net"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/shard"
)

// A table of a metastore is asked for with the storage options of the spec.
func TestTableOfMetastore(t *testing.T) {
	spec := Spec{Addresses: []string{"hive://127.0.0.1:1/db.t"}, Storage: map[string]string{"hive.metastore.use.SSL": "true", "hive.ca_bundle": "none.pem"}}
	find := func() error {
		stores, err := spec.Stores(Events{})
		if err != nil {
			return err
		}
		defer stores.Close()
		_, _, err = spec.Find(t.Context(), stores, spec.Addresses, Events{})
		return err
	}
	if err := find(); err == nil || !strings.Contains(err.Error(), "hive.ca_bundle: ") {
		t.Errorf("a bundle: %v", err)
	}
	delete(spec.Storage, "hive.ca_bundle")
	if err := find(); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("no metastore: %v", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	secure := Spec{Addresses: []string{"hive://" + listener.Addr().String() + "/db.t"}, Storage: map[string]string{
		"hive.metastore.sasl.enabled": "true", "keytab": "none.keytab", "principal": "me",
	}}
	if _, _, err := secure.Find(t.Context(), shard.Stores{}, secure.Addresses, Events{}); err == nil || !strings.Contains(err.Error(), "none.keytab") {
		t.Errorf("a keytab: %v", err)
	}
	stores := shard.Stores{}
	if _, err := spec.Snapshots(t.Context(), stores, spec.Addresses[0]); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("the history: %v", err)
	}
}
