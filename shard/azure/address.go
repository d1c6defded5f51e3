package azure

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/driver/bucket"
)

// A place is a container of an account.
type place struct {
	container string
	host      string // of the account, or "" for the one of the options
}

// containerName matches what a URL's segment can carry: names of containers, and of OneLake's
// workspaces.
var containerName = regexp.MustCompile(`^[A-Za-z0-9$][A-Za-z0-9$._ -]{0,254}$`)

// azureHost matches the hosts of accounts in Azure's clouds, to which tokens may be sent.
var azureHost = regexp.MustCompile(`^[a-z0-9-]+(\.z[0-9]+)?\.(blob|dfs)\.(core\.windows\.net|core\.chinacloudapi\.cn|core\.usgovcloudapi\.net|storage\.azure\.net|fabric\.microsoft\.com)$`)

// parsePlace reads "container" or "container@account.dfs.core.windows.net".
func parsePlace(text string) (place, error) {
	container, host, named := strings.Cut(text, "@")
	host = strings.ToLower(host)
	switch {
	case container == "":
		return place{}, fmt.Errorf("%w: it has no container, as az://container/path and abfss://container@account.dfs.core.windows.net/path have", shard.ErrBadURI)
	case !containerName.MatchString(container):
		return place{}, fmt.Errorf("%w: %q cannot be a container's name", shard.ErrBadURI, container)
	case named && !azureHost.MatchString(host):
		return place{}, fmt.Errorf("%w: after the @ there must be a host of Azure, as account.dfs.core.windows.net; az.endpoint names another server", shard.ErrBadURI)
	}
	return place{container, strings.Replace(host, ".dfs.", ".blob.", 1)}, nil
}

// account is the first label of the host.
func (p place) account() string {
	account, _, _ := strings.Cut(p.host, ".")
	return account
}

// String spells the place as parsePlace reads it.
func (p place) String() string {
	if p.host == "" {
		return p.container
	}
	return p.container + "@" + p.host
}

// locate cuts a path into its container, as a place is spelled, and the key. Pages follow no order
// that a key could continue: accounts with a hierarchical namespace list by directory.
func locate(path string) (bucket.Location, error) {
	text, key, _ := strings.Cut(path, "/")
	p, err := parsePlace(text)
	if err != nil {
		return bucket.Location{}, err
	}
	return bucket.Location{Bucket: p.String(), Key: key, Unordered: true}, nil
}
