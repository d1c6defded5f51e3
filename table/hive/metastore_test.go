package hive_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/internal/leaktest"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/local"
	"github.com/shardfeed/shardfeed/table"
	"github.com/shardfeed/shardfeed/table/hive"
	"github.com/shardfeed/shardfeed/table/scan"
	"github.com/shardfeed/shardfeed/table/tabletest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func options(store shard.Store) table.Options {
	return table.Options{Store: store, Scan: scan.New(store), Parallel: 4}
}

// Tables that Spark made in a Hive metastore, which tools/tables/metastore starts, have the rows
// that Spark reads.
func TestMetastore(t *testing.T) {
	host := os.Getenv("SHARDFEED_HIVE")
	if host == "" {
		t.Skip("SHARDFEED_HIVE names no metastore")
	}
	content, err := os.ReadFile(os.Getenv("SHARDFEED_HIVE_ROWS"))
	if err != nil {
		t.Fatal(err)
	}
	var expect map[string]tabletest.Written
	if err := json.Unmarshal(content, &expect); err != nil {
		t.Fatal(err)
	}
	store := local.New()
	m := hive.Options{}
	if m.Login.Keytab = os.Getenv("SHARDFEED_HIVE_KEYTAB"); m.Login.Keytab != "" {
		m.Kerberos = true
		refused(t, host, m, options(store))
	}
	for name, want := range expect {
		s, err := hive.Open(t.Context(), "hive://"+host+"/default."+name, m, options(store))
		if err != nil {
			t.Error(err)
			continue
		}
		var columns []string
		for _, f := range s.Fields {
			columns = append(columns, f.Column.Name)
		}
		if got, want := strings.Join(columns, " "), strings.Join(want.Columns, " "); got != want {
			t.Errorf("%s has the columns %s, want %s", name, got, want)
		}
		tabletest.Compare(t, name, tabletest.Lines(t, store, s, want.Columns), want.Lines(t))
		t.Logf("%s: %d files, %d rows", name, len(s.Files), len(want.Rows))
	}
	for name, want := range map[string]string{
		"orc": "format ORC", "text": "format text", "seen": "a view", "json": "format json",
		"none": "no table default.none: the database has buckets, ",
	} {
		_, err := hive.Open(t.Context(), "hive://"+host+"/default."+name, m, options(store))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
	_, err = hive.Open(t.Context(), "hive://"+host+"/nowhere.x", m, options(store))
	if want := "the metastore has the databases default"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// refused asks a metastore that wants Kerberos without a ticket, or with one for another service.
func refused(t *testing.T, host string, m hive.Options, o table.Options) {
	other, plain := m, hive.Options{}
	other.Principal = "nobody/_HOST@SHARDFEED.TEST"
	for want, m := range map[string]hive.Options{
		"the ticket is for nobody/localhost, see hive.metastore.kerberos.principal": other,
		"or Kerberos (hive.metastore.sasl.enabled=true)":                            plain,
	} {
		if _, err := hive.Open(t.Context(), "hive://"+host+"/default.shop", m, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
