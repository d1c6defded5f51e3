package servertest

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
)

// The files of a server with TLS, beside its data, under the names that MinIO looks for.
const (
	caFile   = "ca.pem"
	certFile = "public.crt"
	keyFile  = "private.key"
)

// certify writes the certificate for loopback that net/http/httptest has, which is its own
// authority, and returns what a client needs to trust it.
func certify(dir string) (*tls.Config, error) {
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	key, err := x509.MarshalPKCS8PrivateKey(server.TLS.Certificates[0].PrivateKey)
	if err != nil {
		return nil, err
	}
	cert := &pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}
	for file, block := range map[string]*pem.Block{caFile: cert, certFile: cert, keyFile: {Type: "PRIVATE KEY", Bytes: key}} {
		if err := os.WriteFile(filepath.Join(dir, file), pem.EncodeToMemory(block), 0o600); err != nil {
			return nil, err
		}
	}
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	return &tls.Config{RootCAs: roots}, nil
}
