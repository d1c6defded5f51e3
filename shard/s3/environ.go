package s3

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
)

// An environ looks up a variable: in the environment that the options give, else in the process's.
// The SDK reads the process's environment in many places; everything that it would find there is
// found here and handed to it.
type environ func(name string) string

func (o Options) environ() environ {
	if o.Environ == nil {
		return os.Getenv
	}
	return func(name string) string { return o.Environ[name] }
}

func (e environ) first(names ...string) string {
	for _, name := range names {
		if value := e(name); value != "" {
			return value
		}
	}
	return ""
}

// home is the directory of ~/.aws, or "".
func (e environ) home() string {
	if home := e("HOME"); home != "" {
		return home
	}
	if u, err := user.Current(); err == nil {
		return u.HomeDir
	}
	return ""
}

// inHome is a file below the home directory, "" without one.
func (e environ) inHome(path ...string) string {
	home := e.home()
	if home == "" {
		return ""
	}
	return filepath.Join(append([]string{home, ".aws"}, path...)...)
}

// process returns the environment of a credential program: this process's, except for the SDK's
// variables, which are the given ones.
func (o Options) process() []string {
	if o.Environ == nil {
		return os.Environ()
	}
	var all []string
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); !ofSDK(name) {
			all = append(all, variable)
		}
	}
	for name, value := range o.Environ { // the last of two values counts
		all = append(all, name+"="+value)
	}
	return all
}

// ofSDK reports whether the SDK reads a variable: its own, and where the profiles are.
func ofSDK(name string) bool { return strings.HasPrefix(name, "AWS_") || name == "HOME" }

// config is config.NewEnvConfig for the given environment, as far as reading from S3 needs it.
func (e environ) config() (config.EnvConfig, error) {
	p := envParser{environ: e}
	c := config.EnvConfig{
		ContainerCredentialsEndpoint:     e("AWS_CONTAINER_CREDENTIALS_FULL_URI"),
		ContainerCredentialsRelativePath: e("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"),
		ContainerAuthorizationToken:      e("AWS_CONTAINER_AUTHORIZATION_TOKEN"),
		Region:                           e.first("AWS_REGION", "AWS_DEFAULT_REGION"),
		SharedConfigProfile:              e.first("AWS_PROFILE", "AWS_DEFAULT_PROFILE"),
		SharedCredentialsFile:            e.first("AWS_SHARED_CREDENTIALS_FILE"),
		SharedConfigFile:                 e.first("AWS_CONFIG_FILE"),
		CustomCABundle:                   e("AWS_CA_BUNDLE"),
		WebIdentityTokenFilePath:         e("AWS_WEB_IDENTITY_TOKEN_FILE"),
		RoleARN:                          e("AWS_ROLE_ARN"),
		RoleSessionName:                  e("AWS_ROLE_SESSION_NAME"),
		EC2IMDSEndpoint:                  e("AWS_EC2_METADATA_SERVICE_ENDPOINT"),
		EC2IMDSv1Disabled:                p.bool("AWS_EC2_METADATA_V1_DISABLED"),
		S3DisableMultiRegionAccessPoints: p.bool("AWS_S3_DISABLE_MULTIREGION_ACCESS_POINTS"),
		S3DisableExpressAuth:             p.bool("AWS_S3_DISABLE_EXPRESS_SESSION_AUTH"),
		IgnoreConfiguredEndpoints:        p.bool("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"),
		BaseEndpoint:                     e("AWS_ENDPOINT_URL"),
		AppID:                            e("AWS_SDK_UA_APP_ID"),
		RetryMaxAttempts:                 p.int("AWS_MAX_ATTEMPTS"),
	}
	keys := aws.Credentials{
		AccessKeyID:     e.first("AWS_ACCESS_KEY_ID", "AWS_ACCESS_KEY"),
		SecretAccessKey: e.first("AWS_SECRET_ACCESS_KEY", "AWS_SECRET_KEY"),
		SessionToken:    e("AWS_SESSION_TOKEN"), AccountID: e("AWS_ACCOUNT_ID"), Source: config.CredentialsSourceName,
	}
	if keys.HasKeys() {
		c.Credentials = keys
	}
	c.EC2IMDSClientEnableState = imds.ClientEnabled
	if strings.EqualFold(e("AWS_EC2_METADATA_DISABLED"), "true") {
		c.EC2IMDSClientEnableState = imds.ClientDisabled
	}
	if err := c.EC2IMDSEndpointMode.SetFromString(e("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE")); err != nil {
		p.err = fmt.Errorf("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE: %w", err)
	}
	if dual := p.bool("AWS_USE_DUALSTACK_ENDPOINT"); dual != nil {
		c.UseDualStackEndpoint = map[bool]aws.DualStackEndpointState{true: aws.DualStackEndpointStateEnabled, false: aws.DualStackEndpointStateDisabled}[*dual]
	}
	if fips := p.bool("AWS_USE_FIPS_ENDPOINT"); fips != nil {
		c.UseFIPSEndpoint = map[bool]aws.FIPSEndpointState{true: aws.FIPSEndpointStateEnabled, false: aws.FIPSEndpointStateDisabled}[*fips]
	}
	if mode := e("AWS_RETRY_MODE"); mode != "" {
		var err error
		if c.RetryMode, err = aws.ParseRetryMode(mode); err != nil {
			p.err = fmt.Errorf("AWS_RETRY_MODE: %w", err)
		}
	}
	return c, p.err
}

// An envParser reads flags and numbers, and keeps an error of one of them.
type envParser struct {
	environ
	err error
}

func (p *envParser) bool(name string) *bool {
	value := p.environ(name)
	yes := strings.EqualFold(value, "true")
	switch {
	case value == "":
		return nil
	case !yes && !strings.EqualFold(value, "false"):
		p.err = fmt.Errorf("%s must be true or false, got %q", name, value)
	}
	return &yes
}

func (p *envParser) int(name string) int {
	value := p.environ(name)
	if value == "" {
		return 0
	}
	n, err := strconv.Atoi(value)
	if err != nil {
		p.err = fmt.Errorf("%s must be a number, got %q", name, value)
	}
	return n
}
