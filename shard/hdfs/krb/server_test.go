package krb

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/servertest"
	"github.com/shardfeed/shardfeed/shard"
)

// source returns a source that ends with the test, and knows nothing of the environment.
func source(t *testing.T, o Options) *Source {
	t.Helper()
	s, err := New(o, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// loggedIn asks for a ticket of the KDC's own service, so that the login is seen to be one.
func loggedIn(t *testing.T, s *Source) uint64 {
	t.Helper()
	c, generation, err := s.Client(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.GetServiceTicket("HTTP/localhost"); err != nil {
		t.Fatal(err)
	}
	return generation
}

func TestServerKeytab(t *testing.T) {
	k := servertest.Kerberos(t)
	s := source(t, Options{Keytab: k.Keytab, Config: k.Config})
	if got := s.Describe(); got != "keytab "+k.Keytab {
		t.Error(got)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, generation, err := s.Client(t.Context()); err != nil || generation != 1 {
				t.Errorf("generation %d, %v", generation, err)
			}
		})
	}
	wg.Wait()
	loggedIn(t, s)
	if got, want := s.Describe(), "keytab "+k.Keytab+" of "+k.Principal; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	name, _, _ := strings.Cut(k.Principal, "@")
	loggedIn(t, source(t, Options{Keytab: k.Keytab, Config: k.Config, Principal: name}))
}

// TestServerKeytabChanged: a keytab that changed is read again, and users of old clients learn of
// it.
func TestServerKeytabChanged(t *testing.T) {
	k := servertest.Kerberos(t)
	path := filepath.Join(t.TempDir(), "keytab")
	replace(t, path, k.Keytab)
	s := source(t, Options{Keytab: path, Config: k.Config})
	loggedIn(t, s)
	replace(t, path, k.Keytab)
	s.look()
	if generation := loggedIn(t, s); generation != 2 {
		t.Errorf("generation %d", generation)
	}
	if err := os.WriteFile(path, []byte{5, 2, 0}, 0o600); err != nil { // while it is written
		t.Fatal(err)
	}
	s.look()
	if generation := loggedIn(t, s); generation != 2 {
		t.Errorf("generation %d of a damaged file", generation)
	}
}

// look makes the next Client look at the file.
func (s *Source) look() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looked = time.Time{}
}

// replace puts a copy of a file in the place of another.
func replace(t *testing.T, path, from string) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".new", content, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

func TestServerCCache(t *testing.T) {
	k := servertest.Kerberos(t)
	path := k.CCache(t, time.Hour)
	s := source(t, Options{CCache: path, Config: k.Config})
	if generation := loggedIn(t, s); generation != 1 {
		t.Errorf("generation %d", generation)
	}
	if got, want := s.Describe(), "ticket cache "+path+" of "+k.Principal; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	k.Kinit(t, path, 2*time.Hour)
	s.look()
	if generation := loggedIn(t, s); generation != 2 {
		t.Errorf("generation %d after kinit", generation)
	}
	if err := os.Remove(path); err != nil { // kdestroy, before kinit
		t.Fatal(err)
	}
	s.look()
	if generation := loggedIn(t, s); generation != 2 {
		t.Errorf("generation %d without a file", generation)
	}
}

// TestServerExpired: a ticket that has ended is an error that says so, until kinit is run again.
func TestServerExpired(t *testing.T) {
	k := servertest.Kerberos(t)
	path := k.CCache(t, 2*time.Second)
	s := source(t, Options{CCache: path, Config: k.Config})
	if _, _, err := s.Client(t.Context()); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(servertest.ReadyWithin); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if _, _, err := s.Client(t.Context()); err != nil {
			break // the ticket has ended, as is looked at closely below
		}
	}
	for _, s := range []*Source{s, source(t, Options{CCache: path, Config: k.Config})} {
		_, _, err := s.Client(t.Context())
		if !errors.Is(err, shard.ErrDenied) || !strings.Contains(err.Error(), "expired at") || !strings.Contains(err.Error(), "kinit") {
			t.Errorf("error %v", err)
		}
	}
	k.Kinit(t, path, time.Hour)
	loggedIn(t, s)
}

func TestServerErrors(t *testing.T) {
	k := servertest.Kerberos(t)
	dir := write(t, map[string]string{
		"down.conf":  "[realms]\n" + k.Realm + " = {\n kdc = 127.0.0.1:1\n}\n",
		"realm.conf": "[libdefaults]\ndefault_realm = NO.WHERE\ndns_lookup_kdc = false\n",
		"short":      "\x05\x04\x00\x0c\x00",
		"cut":        "\x05\x02\x00\x00\x00\x40a key that nobody may see",
		"empty":      "\x05\x02",
	})
	cache := k.CCache(t, time.Hour)
	for _, c := range []struct {
		name    string
		options Options
		kind    error
		text    string
	}{
		{"no krb5.conf", Options{Keytab: k.Keytab, Config: dir + "/none"}, shard.ErrDenied, "KRB5_CONFIG"},
		{"no keytab", Options{Keytab: dir + "/none", Config: k.Config}, shard.ErrDenied, "no such file"},
		{"a directory", Options{Keytab: dir, Config: k.Config}, shard.ErrDenied, "not a file of credentials"},
		{"damaged keytab", Options{Keytab: dir + "/cut", Config: k.Config}, shard.ErrDenied, "damaged or not yet complete (check"},
		{"empty keytab", Options{Keytab: dir + "/empty", Config: k.Config}, shard.ErrDenied, "empty"},
		{"wrong principal", Options{Keytab: k.Keytab, Principal: "bob", Config: k.Config}, shard.ErrDenied, "it has keys of alice@"},
		{"no cache", Options{CCache: dir + "/none", Config: k.Config}, shard.ErrDenied, "run kinit"},
		{"damaged cache", Options{CCache: dir + "/short", Config: k.Config}, shard.ErrDenied, "damaged"},
		{"other principal", Options{CCache: cache, Principal: "bob", Config: k.Config}, shard.ErrDenied, "is of alice@"},
		{"no KDC", Options{Keytab: k.Keytab, Config: dir + "/down.conf"}, shard.ErrTransient, "can this machine reach"},
		{"unknown realm", Options{Keytab: k.Keytab, Config: dir + "/realm.conf"}, shard.ErrDenied, "no KDC of this realm"},
	} {
		t.Run(c.name, func(t *testing.T) {
			start := time.Now()
			_, _, err := source(t, c.options).Client(t.Context())
			if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("error %v, want %q", err, c.text)
			}
			if took := time.Since(start); took > 45*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// TestServerMuteKDC: a caller can stop waiting for a silent KDC, and the login still ends.
func TestServerMuteKDC(t *testing.T) {
	k := servertest.Kerberos(t)
	mute, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	dir := write(t, map[string]string{"mute.conf": "[realms]\n" + k.Realm + " = {\n kdc = " + mute.Addr().String() + "\n}\n"})
	s := source(t, Options{Keytab: k.Keytab, Config: dir + "/mute.conf"})
	ctx, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer stop()
	start := time.Now()
	if _, _, err := s.Client(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	s.mu.Lock()
	if s.attempt == nil {
		t.Error("the caller left no sooner than the login ended")
	}
	s.mu.Unlock()
	s.Close()
	if took := time.Since(start); took > 45*time.Second {
		t.Errorf("it took %v to end", took)
	}
	if _, _, err := s.Client(t.Context()); !errors.Is(err, errClosed) {
		t.Errorf("error %v of a closed source", err)
	}
}
