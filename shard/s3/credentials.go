package s3

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"
)

// source says in words where the credentials came from, never what they are.
func (s *session) source(ctx context.Context) string {
	if s.anonymous {
		return "none (anonymous)"
	}
	c, err := s.cfg.Credentials.Retrieve(ctx)
	if err != nil {
		return "none"
	}
	words := sourceWords(c.Source, cmp.Or(s.profileName(), "default"))
	if c.CanExpire {
		words += ", until " + c.Expires.UTC().Format(time.RFC3339)
	}
	return words
}

func sourceWords(name, profile string) string {
	if file, ok := strings.CutPrefix(name, "SharedConfigCredentials: "); ok {
		return fmt.Sprintf("profile %s of %s", profile, file)
	}
	switch name {
	case "EnvConfigCredentials":
		return "from the environment"
	case lentSource:
		return "from the table's catalog"
	case "StaticCredentials":
		return "from the options"
	case "EC2RoleProvider":
		return "the role of this machine"
	case "CredentialsEndpointProvider":
		return "the role of this container"
	case "WebIdentityCredentials":
		return "a role by web identity"
	case "AssumeRoleProvider":
		return "a role that profile " + profile + " takes on"
	case "SSOProvider", "LoginProvider":
		return "the sign-in of profile " + profile
	case "ProcessProvider":
		return "the program that profile " + profile + " names"
	}
	return name
}
