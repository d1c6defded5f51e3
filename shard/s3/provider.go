package s3

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/credentials/ec2rolecreds"
	"github.com/aws/aws-sdk-go-v2/credentials/endpointcreds"
	"github.com/aws/aws-sdk-go-v2/credentials/logincreds"
	"github.com/aws/aws-sdk-go-v2/credentials/processcreds"
	"github.com/aws/aws-sdk-go-v2/credentials/ssocreds"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/signin"
	"github.com/aws/aws-sdk-go-v2/service/sso"
	"github.com/aws/aws-sdk-go-v2/service/ssooidc"
	"github.com/aws/aws-sdk-go-v2/service/sts"
)

// credentialTimeout ends a request for credentials. The SDK continues it after its waiting caller
// is cancelled.
const credentialTimeout = time.Minute

// A chain finds the provider of credentials as the SDK's own chain does (config.LoadDefaultConfig),
// from an environment that is given instead of the process's.
type chain struct {
	*settings
	cfg aws.Config // of the clients that ask for credentials; its own credentials are set as they are needed
}

// provider is where the credentials come from: a profile that an option names, else the
// environment, else the environment's profile.
func (c chain) provider(ctx context.Context) (aws.CredentialsProvider, error) {
	switch {
	case c.options.Profile != "":
	case c.env.Credentials.HasKeys():
		return credentials.StaticCredentialsProvider{Value: c.env.Credentials}, nil
	case c.env.WebIdentityTokenFilePath != "":
		return c.webIdentity(c.env.WebIdentityTokenFilePath, c.env.RoleARN, c.env.RoleSessionName)
	}
	return c.ofProfile(ctx, &c.profile)
}

// ofProfile returns the credentials of a profile: its own source, and the role that it assumes with
// that.
func (c chain) ofProfile(ctx context.Context, p *config.SharedConfig) (provider aws.CredentialsProvider, err error) {
	switch {
	case p.Source != nil:
		provider, err = c.ofProfile(ctx, p.Source)
	case p.Credentials.HasKeys():
		provider = credentials.StaticCredentialsProvider{Value: p.Credentials}
	case p.CredentialSource != "":
		provider, err = c.ofSource(ctx, p.CredentialSource)
	case p.WebIdentityTokenFile != "":
		return c.webIdentity(p.WebIdentityTokenFile, p.RoleARN, p.RoleSessionName)
	case p.SSOSessionName != "", p.SSORegion != "", p.SSOAccountID != "", p.SSOStartURL != "", p.SSORoleName != "":
		provider, err = c.sso(p)
	case p.LoginSession != "":
		provider, err = c.login(p.LoginSession)
	case p.CredentialProcess != "":
		provider = c.process(p.CredentialProcess)
	case c.env.ContainerCredentialsRelativePath != "", c.env.ContainerCredentialsEndpoint != "":
		provider, err = c.container(ctx)
	default:
		provider = c.machine()
	}
	if err != nil || p.RoleARN == "" {
		return provider, err
	}
	return c.role(p, provider)
}

// ofSource returns the credentials that credential_source names.
func (c chain) ofSource(ctx context.Context, source string) (aws.CredentialsProvider, error) {
	switch source {
	case "Ec2InstanceMetadata":
		return c.machine(), nil
	case "Environment":
		return credentials.StaticCredentialsProvider{Value: c.env.Credentials}, nil
	case "EcsContainer":
		if c.env.ContainerCredentialsRelativePath == "" && c.env.ContainerCredentialsEndpoint == "" {
			return nil, errors.New("credential_source is EcsContainer, which needs AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or " +
				"AWS_CONTAINER_CREDENTIALS_FULL_URI")
		}
		return c.container(ctx)
	}
	return nil, fmt.Errorf("credential_source must be EcsContainer, Ec2InstanceMetadata or Environment, got %q", source)
}

// cached keeps credentials until they expire, and bounds the time of a request for new ones.
func cached(p aws.CredentialsProvider, options ...func(*aws.CredentialsCacheOptions)) aws.CredentialsProvider {
	return aws.NewCredentialsCache(bounded{p}, options...)
}

type bounded struct{ aws.CredentialsProvider }

func (b bounded) Retrieve(ctx context.Context) (aws.Credentials, error) {
	ctx, cancel := context.WithTimeout(ctx, credentialTimeout)
	defer cancel()
	return b.CredentialsProvider.Retrieve(ctx)
}

// sts returns a client that shows the given credentials.
func (c chain) sts(with aws.CredentialsProvider) *sts.Client {
	cfg := c.cfg.Copy()
	cfg.Credentials = with
	return sts.NewFromConfig(cfg, func(o *sts.Options) { o.BaseEndpoint = c.endpointOf("STS") })
}

func (c chain) webIdentity(file, role, session string) (aws.CredentialsProvider, error) {
	if role == "" {
		return nil, errors.New("a web identity needs a role: set AWS_ROLE_ARN, or role_arn in the profile")
	}
	return cached(stscreds.NewWebIdentityRoleProvider(c.sts(nil), role, stscreds.IdentityTokenFile(file),
		func(o *stscreds.WebIdentityRoleOptions) { o.RoleSessionName = session })), nil
}

func (c chain) role(p *config.SharedConfig, with aws.CredentialsProvider) (aws.CredentialsProvider, error) {
	if p.MFASerial != "" { // an engine cannot ask for a code
		return nil, config.AssumeRoleTokenProviderNotSetError{}
	}
	return cached(stscreds.NewAssumeRoleProvider(c.sts(with), p.RoleARN, func(o *stscreds.AssumeRoleOptions) {
		o.RoleSessionName = p.RoleSessionName
		if d := p.RoleDurationSeconds; d != nil && *d/time.Minute > 15 {
			o.Duration = *d
		}
		if p.ExternalID != "" {
			o.ExternalID = &p.ExternalID
		}
	})), nil
}

// sso returns the credentials of a sign-in of the identity center, whose token is in
// ~/.aws/sso/cache.
func (c chain) sso(p *config.SharedConfig) (aws.CredentialsProvider, error) {
	cfg, startURL, cacheKey := c.cfg.Copy(), p.SSOStartURL, p.SSOStartURL
	cfg.Region = p.SSORegion
	if p.SSOSession != nil {
		cfg.Region, startURL, cacheKey = p.SSOSession.SSORegion, cmp.Or(startURL, p.SSOSession.SSOStartURL), p.SSOSession.Name
	}
	for name, value := range map[string]string{"sso_region": cfg.Region, "sso_start_url": startURL} {
		if value == "" {
			return nil, fmt.Errorf("profile %q is configured for SSO and lacks %s", p.Profile, name)
		}
	}
	file := c.lookup.inHome("sso", "cache", sha1Name(cacheKey))
	client := sso.NewFromConfig(cfg, func(o *sso.Options) { o.BaseEndpoint = c.endpointOf("SSO") })
	return cached(ssocreds.New(client, p.SSOAccountID, p.SSORoleName, startURL, func(o *ssocreds.Options) {
		o.CachedTokenFilepath = file
		if p.SSOSession != nil {
			oidc := ssooidc.NewFromConfig(cfg, func(o *ssooidc.Options) { o.BaseEndpoint = c.endpointOf("SSO OIDC") })
			o.SSOTokenProvider = ssocreds.NewSSOTokenProvider(oidc, file)
		}
	})), nil
}

// login returns the credentials of a sign-in by aws login, whose token is in ~/.aws/login/cache.
func (c chain) login(session string) (aws.CredentialsProvider, error) {
	dir := cmp.Or(c.lookup("AWS_LOGIN_CACHE_DIRECTORY"), c.lookup.inHome("login", "cache"))
	file, err := logincreds.StandardCachedTokenFilepath(session, dir)
	if err != nil {
		return nil, err
	}
	client := signin.NewFromConfig(c.cfg, func(o *signin.Options) { o.BaseEndpoint = c.endpointOf("Signin") })
	return cached(logincreds.New(client, file, func(o *logincreds.Options) { o.RestrictPermissions = true })), nil
}

func (c chain) process(command string) aws.CredentialsProvider {
	build := processcreds.DefaultNewCommandBuilder{Args: []string{command}}
	return cached(processcreds.NewProviderCommand(processcreds.NewCommandBuilderFunc(func(ctx context.Context) (*exec.Cmd, error) {
		cmd, err := build.NewCommand(ctx)
		if err == nil {
			cmd.Env = c.options.process()
		}
		return cmd, err
	})))
}

// containerHost serves the credentials of a container of ECS.
const containerHost = "http://169.254.170.2"

// container is the server of credentials that runs beside a container.
func (c chain) container(ctx context.Context) (aws.CredentialsProvider, error) {
	address := containerHost + c.env.ContainerCredentialsRelativePath
	if c.env.ContainerCredentialsRelativePath == "" {
		address = c.env.ContainerCredentialsEndpoint
		if err := checkContainer(ctx, address); err != nil {
			return nil, err
		}
	}
	tokenFile := c.lookup("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")
	return cached(endpointcreds.New(address, func(o *endpointcreds.Options) {
		o.HTTPClient = &http.Client{Transport: c.direct, CheckRedirect: checkRedirect}
		o.AuthorizationToken = c.env.ContainerAuthorizationToken
		if tokenFile != "" {
			o.AuthorizationTokenProvider = endpointcreds.TokenProviderFunc(func() (string, error) {
				content, err := os.ReadFile(tokenFile)
				return string(content), err
			})
		}
	}), func(o *aws.CredentialsCacheOptions) { o.ExpiryWindow = 5 * time.Minute }), nil
}

// containerIPs are the servers of credentials beside containers of ECS and EKS.
var containerIPs = []string{"169.254.170.2", "169.254.170.23", "fd00:ec2::23"}

// checkContainer refuses to send a token over plain HTTP to a host that is neither this one nor a
// server beside containers.
func checkContainer(ctx context.Context, address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return errors.New("AWS_CONTAINER_CREDENTIALS_FULL_URI names no host")
	}
	if u.Scheme != "http" {
		return nil
	}
	ips, err := net.DefaultResolver.LookupHost(ctx, u.Hostname())
	if err != nil {
		return fmt.Errorf("AWS_CONTAINER_CREDENTIALS_FULL_URI: %w", err)
	}
	for _, text := range ips {
		ip := net.ParseIP(text)
		if !ip.IsLoopback() && !slices.ContainsFunc(containerIPs, func(known string) bool { return ip.Equal(net.ParseIP(known)) }) {
			return fmt.Errorf("AWS_CONTAINER_CREDENTIALS_FULL_URI: http is for this host and for containers' servers, not for %s", u.Hostname())
		}
	}
	return nil
}

// machine is the role of a machine of EC2. It has its own timeouts, and its expired credentials are
// used while there are no others.
func (c chain) machine() aws.CredentialsProvider {
	client := imds.New(imds.Options{}, func(o *imds.Options) {
		o.HTTPClient, o.Logger = c.metadata, c.cfg.Logger
		o.ClientEnableState = c.env.EC2IMDSClientEnableState
		o.Endpoint = cmp.Or(c.env.EC2IMDSEndpoint, c.profile.EC2IMDSEndpoint)
		if mode := cmp.Or(c.env.EC2IMDSEndpointMode, c.profile.EC2IMDSEndpointMode); o.Endpoint == "" && mode == imds.EndpointModeStateIPv6 {
			o.Endpoint = "http://[fd00:ec2::254]"
		}
		o.Endpoint = cmp.Or(o.Endpoint, "http://169.254.169.254") // imds would look into the process's environment
		if off := cmp.Or(c.env.EC2IMDSv1Disabled, c.profile.EC2IMDSv1Disabled); off != nil && *off {
			o.EnableFallback = aws.FalseTernary
		}
	})
	return aws.NewCredentialsCache(ec2rolecreds.New(func(o *ec2rolecreds.Options) { o.Client = client }))
}
