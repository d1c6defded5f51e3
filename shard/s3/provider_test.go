package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/shard"
)

// credentialServer answers as STS, the identity center, a container's server and a machine's do.
// The keys that it gives say who was asked.
func credentialServer(t *testing.T) *httptest.Server {
	t.Helper()
	until := time.Now().Add(time.Hour).UTC()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		switch path := r.URL.Path; {
		case r.Form.Get("Action") != "":
			action := r.Form.Get("Action")
			_, _ = fmt.Fprintf(w, `<%[1]sResponse><%[1]sResult><Credentials><AccessKeyId>%[2]s</AccessKeyId><SecretAccessKey>s</SecretAccessKey>`+
				`<SessionToken>t</SessionToken><Expiration>%[3]s</Expiration></Credentials></%[1]sResult></%[1]sResponse>`,
				action, "STS-"+r.Form.Get("RoleArn")+r.Form.Get("WebIdentityToken"), until.Format(time.RFC3339))
		case path == "/federation/credentials":
			_, _ = fmt.Fprintf(w, `{"roleCredentials":{"accessKeyId":"SSO-%s","secretAccessKey":"s","sessionToken":"t","expiration":%d}}`,
				r.Header.Get("X-Amz-Sso_bearer_token"), until.UnixMilli())
		case path == "/container":
			_, _ = fmt.Fprintf(w, `{"AccessKeyId":"CONTAINER-%s","SecretAccessKey":"s","Token":"t","Expiration":%q}`,
				r.Header.Get("Authorization"), until.Format(time.RFC3339))
		case path == "/latest/api/token":
			w.Header().Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "600")
			_, _ = io.WriteString(w, "token")
		case strings.HasPrefix(path, "/latest/meta-data/iam/security-credentials") && strings.HasSuffix(path, "/role"):
			_, _ = fmt.Fprintf(w, `{"Code":"Success","AccessKeyId":"MACHINE","SecretAccessKey":"s","Token":"t","Expiration":%q}`, until.Format(time.RFC3339))
		case strings.HasPrefix(path, "/latest/meta-data/iam/security-credentials"):
			_, _ = io.WriteString(w, "role")
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// home makes a home directory with the files of the AWS tools.
func home(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestCredentialSources: every source of credentials is found in the environment that the options
// give, while the process's environment names others, which answer nothing.
func TestCredentialSources(t *testing.T) {
	server := credentialServer(t)
	token := `{"accessToken":"hello","expiresAt":"2999-01-01T00:00:00Z"}`
	dir := home(t, map[string]string{
		"token": "identity",
		".aws/config": `
[profile keys]
aws_access_key_id = KEYS
aws_secret_access_key = s
[profile role]
role_arn = arn:aws:iam::1:role/r
source_profile = keys
[profile twice]
role_arn = arn:aws:iam::1:role/second
source_profile = role
[profile source]
role_arn = arn:aws:iam::1:role/c
credential_source = EcsContainer
[profile web]
role_arn = arn:aws:iam::1:role/w
web_identity_token_file = TOKEN
[profile sso]
sso_start_url = https://start
sso_region = us-east-1
sso_account_id = 1
sso_role_name = r
[profile session]
sso_session = mine
sso_account_id = 1
sso_role_name = r
[sso-session mine]
sso_region = us-east-1
sso_start_url = https://start
[profile program]
credential_process = printf '{"Version":1,"AccessKeyId":"PROGRAM-%s","SecretAccessKey":"s"}' "$AWS_MARK$(basename "$HOME")"
[profile mfa]
role_arn = arn:aws:iam::1:role/r
source_profile = keys
mfa_serial = 1
[profile lost]
sso_session = none
`,
		".aws/sso/cache/" + sha1Name("https://start"): token,
		".aws/sso/cache/" + sha1Name("mine"):          token,
	})
	config := filepath.Join(dir, ".aws", "config")
	content, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	write(t, config, strings.ReplaceAll(string(content), "= TOKEN", "= "+filepath.Join(dir, "token")))

	const nowhere = "http://127.0.0.1:1"
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "PROCESS", "AWS_SECRET_ACCESS_KEY": "x", "AWS_REGION": "us-west-2", "AWS_PROFILE": "process", "AWS_MARK": "process",
		"AWS_ENDPOINT_URL": nowhere, "AWS_ENDPOINT_URL_STS": nowhere, "AWS_ENDPOINT_URL_SSO": nowhere, "AWS_ENDPOINT_URL_S3": nowhere,
		"AWS_CONTAINER_CREDENTIALS_FULL_URI": nowhere, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": "/process",
		"AWS_EC2_METADATA_SERVICE_ENDPOINT": nowhere, "AWS_EC2_METADATA_DISABLED": "true", "AWS_WEB_IDENTITY_TOKEN_FILE": "/process",
		"AWS_CA_BUNDLE": "/process", "AWS_MAX_ATTEMPTS": "x", "AWS_CONFIG_FILE": "/process", "HOME": "/process",
	} {
		t.Setenv(name, value)
	}
	for _, c := range []struct {
		name    string
		environ map[string]string
		o       Options
		want    string // key, or a part of the error
	}{
		{"keys in the environment", map[string]string{"AWS_ACCESS_KEY_ID": "ENV", "AWS_SECRET_ACCESS_KEY": "s"}, Options{}, "ENV"},
		{"older names", map[string]string{"AWS_ACCESS_KEY": "OLD", "AWS_SECRET_KEY": "s"}, Options{}, "OLD"},
		{"an option's profile before them", map[string]string{"AWS_ACCESS_KEY_ID": "ENV", "AWS_SECRET_ACCESS_KEY": "s"}, Options{Profile: "keys"}, "KEYS"},
		{"profile", map[string]string{"AWS_PROFILE": "keys"}, Options{}, "KEYS"},
		{"its other name", map[string]string{"AWS_DEFAULT_PROFILE": "keys"}, Options{}, "KEYS"},
		{"role", map[string]string{"AWS_PROFILE": "role"}, Options{}, "STS-arn:aws:iam::1:role/r"},
		{"role by a role", map[string]string{"AWS_PROFILE": "twice"}, Options{}, "STS-arn:aws:iam::1:role/second"},
		{"role by a container", map[string]string{"AWS_PROFILE": "source", "AWS_CONTAINER_CREDENTIALS_FULL_URI": server.URL + "/container"}, Options{}, "STS-arn:aws:iam::1:role/c"},
		{"role by a container that is missing", map[string]string{"AWS_PROFILE": "source"}, Options{}, "error: AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"},
		{"role with a code", map[string]string{"AWS_PROFILE": "mfa"}, Options{}, "error: MFA"},
		{"web identity", map[string]string{"AWS_WEB_IDENTITY_TOKEN_FILE": filepath.Join(dir, "token"), "AWS_ROLE_ARN": "e"}, Options{}, "STS-eidentity"},
		{"web identity without a role", map[string]string{"AWS_WEB_IDENTITY_TOKEN_FILE": filepath.Join(dir, "token")}, Options{}, "error: AWS_ROLE_ARN"},
		{"web identity by profile", map[string]string{"AWS_PROFILE": "web"}, Options{}, "STS-arn:aws:iam::1:role/widentity"},
		{"sign-in", map[string]string{"AWS_PROFILE": "sso"}, Options{}, "SSO-hello"},
		{"sign-in of a session", map[string]string{"AWS_PROFILE": "session"}, Options{}, "SSO-hello"},
		{"sign-in of a lost session", map[string]string{"AWS_PROFILE": "lost"}, Options{}, "error: SSO session section, none"},
		{"program", map[string]string{"AWS_PROFILE": "program", "AWS_MARK": "given"}, Options{}, "PROGRAM-given" + filepath.Base(dir)},
		{
			"container",
			map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": server.URL + "/container", "AWS_CONTAINER_AUTHORIZATION_TOKEN": "word"},
			Options{},
			"CONTAINER-word",
		},
		{
			"container with a file",
			map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": server.URL + "/container", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": filepath.Join(dir, "token")},
			Options{},
			"CONTAINER-identity",
		},
		{"container elsewhere", map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://192.0.2.1/container"}, Options{}, "error: not for 192.0.2.1"},
		{"machine", map[string]string{"AWS_EC2_METADATA_SERVICE_ENDPOINT": server.URL}, Options{}, "MACHINE"},
		{"no machine", map[string]string{"AWS_EC2_METADATA_DISABLED": "true"}, Options{}, "error: no AWS credentials"},
		{"no such profile", map[string]string{"AWS_PROFILE": "none"}, Options{}, "error: none"},
		{"bad number", map[string]string{"AWS_MAX_ATTEMPTS": "x"}, Options{}, `error: AWS_MAX_ATTEMPTS must be a number, got "x"`},
		{"bad flag", map[string]string{"AWS_EC2_METADATA_V1_DISABLED": "x"}, Options{}, `error: AWS_EC2_METADATA_V1_DISABLED must be true or false, got "x"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.o.Environ = map[string]string{
				"HOME": dir, "AWS_ENDPOINT_URL_STS": server.URL, "AWS_ENDPOINT_URL_SSO": server.URL, "AWS_MAX_ATTEMPTS": "1",
			}
			for name, value := range c.environ {
				c.o.Environ[name] = value
			}
			s, err := newSession(t.Context(), c.o)
			if want, isError := strings.CutPrefix(c.want, "error: "); isError || err != nil {
				if !isError || err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v, want %s", err, c.want)
				}
				return
			}
			defer s.close()
			keys, err := s.cfg.Credentials.Retrieve(t.Context())
			if err != nil || keys.AccessKeyID != c.want {
				t.Errorf("key %s, %v", keys.AccessKeyID, err)
			}
			if s.endpoint != "" || s.regionFrom != "" {
				t.Errorf("endpoint %q, region %s %s", s.endpoint, s.cfg.Region, s.regionFrom)
			}
		})
	}
}

// TestCredentialServerHangs: one client waits for a server of credentials that never answers.
// Another, with an environment of its own, opens meanwhile, the process's environment stays as it
// was, and the first ends with its context.
func TestCredentialServerHangs(t *testing.T) {
	asked, end := make(chan struct{}), make(chan struct{})
	hung := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(asked)
		<-end
	}))
	defer hung.Close()
	defer close(end)
	fine := newFakeServer(t, func(w io.Writer, _ int64) { _, _ = io.WriteString(w, file("d/a")) })
	off := map[string]string{"HOME": t.TempDir(), "AWS_EC2_METADATA_DISABLED": "true", "AWS_ENDPOINT_URL": fine.URL, "AWS_REGION": "us-east-1", "AWS_MAX_ATTEMPTS": "1"}
	environ := func(name, value, name2, value2 string) map[string]string {
		all := map[string]string{name: value, name2: value2}
		for n, v := range off {
			all[n] = v
		}
		return all
	}
	before := strings.Join(os.Environ(), "\n")

	waits := newStore(t, Options{Environ: environ("AWS_CONTAINER_CREDENTIALS_FULL_URI", hung.URL, "AWS_CONTAINER_AUTHORIZATION_TOKEN", "secret")})
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	ended := make(chan error, 1)
	go func() {
		_, err := waits.List(ctx, "s3://bucket/d/")
		ended <- err
	}()
	<-asked
	if now := strings.Join(os.Environ(), "\n"); now != before {
		t.Error("the process's environment changed")
	}
	opens := newStore(t, Options{Environ: environ("AWS_ACCESS_KEY_ID", "k", "AWS_SECRET_ACCESS_KEY", "s")})
	if found, err := opens.List(t.Context(), "s3://bucket/d/"); err != nil || len(found) != 1 {
		t.Errorf("%v, %v", found, err)
	}
	select {
	case err := <-ended:
		t.Fatalf("it did not wait: %v", err)
	default:
	}
	cancel(errors.New("enough"))
	err := <-ended
	if e := (*shard.Error)(nil); !errors.As(err, &e) || !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
