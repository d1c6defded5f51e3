package servertest

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// An httpServer is a server of objects that speaks HTTP on a loopback port.
type httpServer struct {
	Endpoint string // http://127.0.0.1:port, https:// with TLS, and path
	CA       string // path of the certificate authority's PEM file with TLS

	path   string // of the endpoint
	proc   *process
	client *http.Client
}

const loopback = "127.0.0.1"

// A command returns the arguments and the environment of a server that listens on a loopback port
// and keeps its files below root. If the server's CA is set, it serves root's certificate.
type command func(port, root string) (args, env []string)

// start runs a server until answers returns nil.
func (s *httpServer) start(name string, tls bool, how command, answers func() error) error {
	_, err := retry(func() (*process, error) { return s.proc, s.startOnce(name, tls, how, answers) })
	return err
}

func (s *httpServer) startOnce(name string, tls bool, how command, answers func() error) error {
	root, err := newRoot(name)
	if err != nil {
		return err
	}
	free, err := freePort()
	if err != nil {
		return err
	}
	port := strconv.Itoa(free)
	s.Endpoint = "http://" + loopback + ":" + port + s.path
	// A kept connection would be a goroutine at the end of the test.
	transport := &http.Transport{DisableKeepAlives: true}
	s.client = &http.Client{Transport: transport, Timeout: ReadyWithin}
	if tls {
		if transport.TLSClientConfig, err = certify(root); err != nil {
			return err
		}
		s.Endpoint, s.CA = "https://"+loopback+":"+port+s.path, filepath.Join(root, caFile)
	}
	args, env := how(port, root)
	if s.proc, err = launch(watcher, root, env, nil, args...); err != nil {
		return err
	}
	if err := s.proc.ready(answers); err != nil {
		s.proc.stop()
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// send sends a request and expects success.
func (s *httpServer) send(r *http.Request) error {
	answer, err := s.client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: %s: %s", r.Method, r.URL.Path, answer.Status, text)
	}
	return nil
}

// contentOf reads a file to put.
func contentOf(t testing.TB, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
