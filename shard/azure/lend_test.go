package azure

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/servertest"
	"github.com/shardfeed/shardfeed/shard"
)

// Signatures and tokens that a catalog lends open what is below their prefix, are renewed, and open
// nothing else.
func TestServerBorrow(t *testing.T) {
	server := servertest.AzuriteWithTLS(t)
	f := newFixture(t, server)
	f.Write(t, "d/a", []byte("content"))
	f.Write(t, "dd/b", []byte("other"))
	sas, host := accountSAS(t, server), server.Account+".dfs.core.windows.net"
	at := fmt.Sprint(time.Now().Add(time.Hour).UnixMilli())
	for name, c := range map[string]struct {
		first, next shard.Credentials
		renewed     int
	}{
		"host":       {shard.Credentials{lentSAS + "." + host: sas}, nil, 0},
		"blob host":  {shard.Credentials{lentSAS + "." + strings.Replace(host, "dfs", "blob", 1): sas, lentSASExpiry + "." + host: at}, nil, 0},
		"account":    {shard.Credentials{lentSAS + "." + server.Account: sas}, nil, 0},
		"bare":       {shard.Credentials{lentSAS: "?" + sas}, nil, 0},
		"bearer":     {shard.Credentials{lentToken: bearer(t, time.Hour)}, nil, 0},
		"old":        {shard.Credentials{lentSAS: "sig=old", lentSASExpiry + "." + host: "1000"}, shard.Credentials{lentSAS: sas}, 1},
		"old bearer": {shard.Credentials{lentToken: "old", lentSASExpiry: "1000"}, shard.Credentials{lentToken: bearer(t, time.Hour)}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			renewed := 0
			renew := func(context.Context) (shard.Credentials, error) {
				renewed++
				return c.next, nil
			}
			s := newStore(t, Options{Account: server.Account, Anonymous: true, Endpoint: server.Endpoint, CABundle: server.CA, RetryFor: time.Second})
			prefix := "abfss://" + f.container + "@" + host + "/d/"
			if err := shard.Borrow(shard.Stores{"abfss": s}, prefix, c.first, renew); err != nil {
				t.Fatal(err)
			}
			found, err := s.List(t.Context(), "wasbs://"+f.container+"@"+strings.Replace(host, "dfs", "blob", 1)+"/d/")
			if err != nil || len(found) != 1 || renewed != c.renewed {
				t.Fatalf("%v, %v, renewed %d times", found, err, renewed)
			}
			if _, err := s.List(t.Context(), strings.Replace(prefix, "/d/", "/dd/", 1)); !errors.Is(err, shard.ErrDenied) {
				t.Errorf("beside the prefix: %v", err)
			}
		})
	}
}

func TestBorrowErrors(t *testing.T) {
	s := newStore(t, Options{Account: "mine"})
	for name, lent := range map[string]shard.Credentials{
		"of another store":   {"s3.access-key-id": "k"},
		"of another account": {lentSAS + ".other": "sig=SECRET"},
	} {
		if err := s.Borrow("az://c/d", lent, nil); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := s.Borrow("abfss://c@elsewhere.example/d", shard.Credentials{lentSAS: "sig=SECRET"}, nil); !errors.Is(err, shard.ErrBadURI) {
		t.Errorf("another host: %v", err)
	}
	if err := s.Borrow("az://c/d", shard.Credentials{lentSAS: "SECRET"}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.List(t.Context(), "az://c/d/"); !errors.Is(err, shard.ErrBadURI) || strings.Contains(err.Error(), "SECRET") {
		t.Errorf("no signature: %v", err)
	}
}
