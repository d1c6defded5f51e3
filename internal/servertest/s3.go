package servertest

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
)

// An S3Server is a real S3 server on a loopback port. Its methods are safe for concurrent use.
type S3Server struct {
	httpServer
	Key, Secret string // of the root account
	Region      string
}

// S3Options chooses a server. The zero value is the shared one.
type S3Options struct {
	TLS bool // https, by a certificate authority of its own
	Own bool // a server for only this test, which ends it
}

// The pools hold the shared servers of the process.
var (
	gateways pool[bool, *S3Server] // by TLS
	minios   pool[bool, *S3Server]
)

// S3 returns versitygw over an empty directory, shared by the tests of the binary; MinIO with
// SHARDFEED_SERVERS=minio.
func S3(t testing.TB) *S3Server { return S3With(t, S3Options{}) }

// S3With returns a server as the options have it.
func S3With(t testing.TB, o S3Options) *S3Server {
	t.Helper()
	if minioOnly() {
		return minioWith(t, o)
	}
	program := Need(t, "versitygw")
	return o.from(t, &gateways, func() (*S3Server, error) { return startS3("versitygw", o.TLS, gateway(program)) })
}

// MinIO returns a shared MinIO, the second opinion on what S3 is.
func MinIO(t testing.TB) *S3Server { return minioWith(t, S3Options{}) }

func minioWith(t testing.TB, o S3Options) *S3Server {
	t.Helper()
	program := Need(t, "minio")
	return o.from(t, &minios, func() (*S3Server, error) { return startS3("minio", o.TLS, minio(program)) })
}

// from starts a server, or shares the one that the pool has.
func (o S3Options) from(t testing.TB, shared *pool[bool, *S3Server], start func() (*S3Server, error)) *S3Server {
	t.Helper()
	if !o.Own {
		return shared.get(t, o.TLS, start)
	}
	s, err := start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.proc.stop)
	return s
}

// An s3Command is the command of a server that listens on an address.
type s3Command func(s *S3Server, address, root string) (args, env []string)

func gateway(program string) s3Command {
	return func(s *S3Server, address, root string) (args, env []string) {
		args = []string{program, "--port", address, "--region", s.Region, "--keep-alive", "--quiet"}
		if s.CA != "" {
			args = append(args, "--cert", filepath.Join(root, certFile), "--key", filepath.Join(root, keyFile))
		}
		return append(args, "posix", data(root)), []string{"ROOT_ACCESS_KEY=" + s.Key, "ROOT_SECRET_KEY=" + s.Secret}
	}
}

// minio uses any free port for its own pages. Its certificate is in its default place.
func minio(program string) s3Command {
	return func(s *S3Server, address, root string) (args, env []string) {
		args = []string{program, "server", "--address", address, "--console-address", "127.0.0.1:0", "--quiet", "--certs-dir", root}
		return append(args, data(root)), []string{
			"MINIO_ROOT_USER=" + s.Key, "MINIO_ROOT_PASSWORD=" + s.Secret, "MINIO_REGION=" + s.Region, "MINIO_BROWSER=off", "MINIO_UPDATE=off",
		}
	}
}

func startS3(name string, tls bool, how s3Command) (*S3Server, error) {
	s := &S3Server{Key: "shardfeedtest", Secret: "shardfeedtestsecret", Region: "us-east-1"}
	return s, s.start(name, tls, func(port, root string) (args, env []string) { return how(s, loopback+":"+port, root) }, s.answers)
}

func (s *S3Server) answers() error {
	return s.do(http.MethodGet, "", "", nil)
}

// Bucket makes an empty bucket that goes away with the test, and returns its name.
func (s *S3Server) Bucket(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp(data(s.proc.root), "b-")
	if err != nil {
		t.Fatal(err)
	}
	os.Remove(dir) // only its name, which no other test of any process has, is wanted
	bucket := filepath.Base(dir)
	if err := s.do(http.MethodPut, bucket, "", nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) }) // both servers keep a bucket in a directory of its name
	return bucket
}

// Via is the server as its clients find it at another endpoint, such as a proxy's.
func (s *S3Server) Via(endpoint string) *S3Server {
	via := *s
	via.Endpoint = endpoint
	return &via
}

// Setenv points the variables of the AWS tools at the server for the rest of the test, and away
// from the user's own files.
func (s *S3Server) Setenv(t testing.TB) {
	t.Helper()
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": s.Key, "AWS_SECRET_ACCESS_KEY": s.Secret, "AWS_SESSION_TOKEN": "",
		"AWS_REGION": s.Region, "AWS_ENDPOINT_URL": s.Endpoint, "AWS_CA_BUNDLE": s.CA, "AWS_PROFILE": "",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_EC2_METADATA_DISABLED": "true",
	} {
		t.Setenv(name, value)
	}
}
