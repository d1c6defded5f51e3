package servertest

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// An AzureServer is Azurite, the emulator of Azure Blob Storage, on a loopback port. Its methods
// are safe for concurrent use.
type AzureServer struct {
	httpServer   // its endpoint is of the account's blobs
	Account, Key string

	containers atomic.Int64
}

var azurites pool[bool, *AzureServer] // by TLS

// Azurite returns an emulator that the tests of the binary share.
func Azurite(t testing.TB) *AzureServer { return azuriteWith(t, false) }

// AzuriteWithTLS returns one that speaks https, and takes tokens of OAuth, whose claims it checks
// and whose signature it does not.
func AzuriteWithTLS(t testing.TB) *AzureServer { return azuriteWith(t, true) }

func azuriteWith(t testing.TB, tls bool) *AzureServer {
	t.Helper()
	program := Need(t, "azurite")
	return azurites.get(t, tls, func() (*AzureServer, error) { return startAzurite(program, tls) })
}

func startAzurite(program string, tls bool) (*AzureServer, error) {
	const account = "tester"
	s := &AzureServer{Account: account, Key: base64.StdEncoding.EncodeToString([]byte("a key of an account for tests"))}
	s.path = "/" + account
	how := func(port, root string) (args, env []string) {
		args = []string{program, "--blobHost", loopback, "--blobPort", port, "--inMemoryPersistence", "--silent", "--skipApiVersionCheck", "--disableTelemetry"}
		if s.CA != "" {
			args = append(args, "--cert", filepath.Join(root, certFile), "--key", filepath.Join(root, keyFile), "--oauth", "basic")
		}
		return args, []string{"AZURITE_ACCOUNTS=" + s.Account + ":" + s.Key}
	}
	return s, s.start("azurite", tls, how, func() error { return s.do(http.MethodGet, "", url.Values{"comp": {"list"}}, nil) })
}

// ConnectionString is the server as clients take it.
func (s *AzureServer) ConnectionString() string {
	return "AccountName=" + s.Account + ";AccountKey=" + s.Key + ";BlobEndpoint=" + s.Endpoint
}

// Container makes an empty container and returns its name.
func (s *AzureServer) Container(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("container-%d", s.containers.Add(1))
	if err := s.do(http.MethodPut, "/"+name, url.Values{"restype": {"container"}}, nil); err != nil {
		t.Fatal(err)
	}
	return name
}

// Put makes or replaces a blob. Header alternates names and values.
func (s *AzureServer) Put(t testing.TB, container, key string, content []byte, header ...string) {
	t.Helper()
	header = append([]string{"X-Ms-Blob-Type", "BlockBlob"}, header...)
	if err := s.do(http.MethodPut, "/"+container+"/"+escapePath(key), nil, content, header...); err != nil {
		t.Fatal(err)
	}
}

// PutFile makes or replaces a blob from a file.
func (s *AzureServer) PutFile(t testing.TB, container, key, path string) {
	t.Helper()
	s.Put(t, container, key, contentOf(t, path))
}

// Remove deletes a blob.
func (s *AzureServer) Remove(t testing.TB, container, key string) {
	t.Helper()
	if err := s.do(http.MethodDelete, "/"+container+"/"+escapePath(key), nil, nil); err != nil {
		t.Fatal(err)
	}
}

// do sends one request signed by the account's key, and expects success.
func (s *AzureServer) do(method, path string, query url.Values, body []byte, header ...string) error {
	r, err := http.NewRequestWithContext(context.Background(), method, s.Endpoint+path+"?"+query.Encode(), bytes.NewReader(body)) // the client has a timeout
	if err != nil {
		return err
	}
	length := ""
	if len(body) > 0 {
		length = strconv.Itoa(len(body))
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	r.Header.Set("X-Ms-Date", time.Now().UTC().Format(http.TimeFormat))
	r.Header.Set("X-Ms-Version", "2023-11-03")
	var own []string
	for name := range r.Header {
		if lower := strings.ToLower(name); strings.HasPrefix(lower, "x-ms-") {
			own = append(own, lower+":"+r.Header.Get(name))
		}
	}
	slices.Sort(own)
	text := method + "\n\n\n" + length + strings.Repeat("\n", 9) + strings.Join(own, "\n") + "\n/" + s.Account + r.URL.EscapedPath()
	for _, name := range []string{"comp", "restype"} {
		if query.Has(name) {
			text += "\n" + name + ":" + query.Get(name)
		}
	}
	key, err := base64.StdEncoding.DecodeString(s.Key)
	if err != nil {
		return err
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	r.Header.Set("Authorization", "SharedKey "+s.Account+":"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	return s.send(r)
}
