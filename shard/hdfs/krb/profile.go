package krb

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jcmturner/gokrb5/v8/config"

	"github.com/shardfeed/shardfeed/shard"
)

const (
	maxProfile = 1 << 20 // bytes of all files together
	maxInclude = 16      // files that include each other
)

// A profile has the settings of krb5.conf that a client needs, from all its files.
type profile struct {
	defaults map[string]string   // of [libdefaults]: the first one given, as in MIT Kerberos
	realms   map[string][]string // KDCs
	order    []string            // of the realms
	domains  []string            // lines of [domain_realm]
	size     int                 // bytes read
}

// readProfile reads krb5.conf: paths separated by colons, of which one must exist.
func readProfile(paths string) (*profile, error) {
	p := &profile{defaults: make(map[string]string), realms: make(map[string][]string)}
	var missing error
	read := 0
	for path := range strings.SplitSeq(paths, ":") {
		switch err := p.file(path, nil); {
		case errors.Is(err, fs.ErrNotExist):
			missing = errors.Join(missing, err)
		case err != nil:
			return nil, err
		default:
			read++
		}
	}
	if read == 0 {
		return nil, fmt.Errorf("krb5.conf cannot be read: %w", missing)
	}
	return p, nil
}

// file reads one file. Above are the files that include it.
func (p *profile) file(path string, above []string) error {
	if slices.Contains(above, path) || len(above) >= maxInclude {
		return fmt.Errorf("%s: files include each other in a circle, or too deep", path)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if p.size += len(content); p.size > maxProfile {
		return fmt.Errorf("%s: it has more than %d bytes, the most for a krb5.conf", path, maxProfile)
	}
	return p.parse(content, func(directive, target string) error {
		return p.include(directive, target, append(slices.Clip(above), path))
	})
}

// include reads a file, or the files of a directory whose names MIT Kerberos takes.
func (p *profile) include(directive, target string, above []string) error {
	if directive == "include" {
		return p.file(target, above)
	}
	entries, err := os.ReadDir(target)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if name := e.Name(); !e.IsDir() && included(name) {
			if err := p.file(filepath.Join(target, name), above); err != nil {
				return err
			}
		}
	}
	return nil
}

// included implements the rule of includedir: names of only letters, digits, - and _, or *.conf
// that is not hidden.
func included(name string) bool {
	if strings.HasSuffix(name, ".conf") && !strings.HasPrefix(name, ".") {
		return true
	}
	return strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}

func (p *profile) parse(content []byte, include func(directive, target string) error) error {
	section, realm, depth := "", "", 0
	for raw := range bytes.Lines(content) {
		line := strings.TrimSpace(string(raw))
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		if directive, target, ok := strings.Cut(line, " "); ok && depth == 0 && (directive == "include" || directive == "includedir") {
			if err := include(directive, strings.TrimSpace(target)); err != nil {
				return err
			}
			continue
		}
		if line[0] == '[' && depth == 0 {
			section = strings.ToLower(strings.Trim(strings.TrimSuffix(line, "*"), "[] "))
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		key, value = strings.TrimSpace(key), strings.Trim(strings.TrimSpace(value), `"`)
		switch {
		case strings.HasPrefix(line, "}"):
			depth = max(depth-1, 0)
		case strings.HasPrefix(value, "{"):
			if depth == 0 {
				realm = key
			}
			if !strings.HasSuffix(value, "}") {
				depth++
			}
		default:
			p.set(section, realm, depth, key, value)
		}
	}
	return nil
}

func (p *profile) set(section, realm string, depth int, key, value string) {
	switch {
	case section == "libdefaults" && depth == 0:
		if key = strings.ToLower(key); p.defaults[key] == "" {
			p.defaults[key] = value
		}
	case section == "domain_realm" && depth == 0 && value != "":
		p.domains = append(p.domains, key+" = "+value)
	case section == "realms" && depth == 1 && key == "kdc" && value != "":
		if _, ok := p.realms[realm]; !ok {
			p.order = append(p.order, realm)
		}
		p.realms[realm] = append(p.realms[realm], strings.TrimPrefix(value, "tcp/"))
	}
}

// known are the defaults that a client of ours follows. Others, and values that MIT Kerberos has
// and gokrb5 does not know, stay out.
var known = []string{
	"default_realm", "ticket_lifetime", "renew_lifetime", "clockskew", "permitted_enctypes", "default_tkt_enctypes",
	"default_tgs_enctypes", "allow_weak_crypto", "dns_lookup_kdc", "udp_preference_limit", "noaddresses", "forwardable",
}

func (p *profile) config() (*config.Config, error) {
	var b strings.Builder
	b.WriteString("[libdefaults]\n")
	implied := map[string]string{"dns_lookup_kdc": "true", "udp_preference_limit": "1"}
	for _, key := range known {
		value := p.defaults[key]
		if value == "" {
			value = implied[key]
		}
		if value != "" {
			fmt.Fprintf(&b, " %s = %s\n", key, value)
		}
	}
	b.WriteString("[realms]\n")
	for _, realm := range p.order {
		fmt.Fprintf(&b, " %s = {\n", realm)
		for _, kdc := range p.realms[realm] {
			fmt.Fprintf(&b, "  kdc = %s\n", kdc)
		}
		b.WriteString(" }\n")
	}
	b.WriteString("[domain_realm]\n")
	for _, line := range p.domains {
		fmt.Fprintf(&b, " %s\n", line)
	}
	c, err := config.NewFromString(b.String())
	if unsupported := (config.UnsupportedDirective{}); err != nil && !errors.As(err, &unsupported) {
		return nil, fmt.Errorf("%w: krb5.conf: %w", shard.ErrDenied, err)
	}
	return c, nil
}
