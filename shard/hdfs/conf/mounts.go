package conf

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// A mountTable maps the paths of a viewfs address to their targets.
type mountTable struct {
	name     string
	links    map[string]string // target address by path
	fallback string            // of paths that no link covers, or ""
}

// table reads a mount table. The name "" means the one of fs.defaultFS, else "default".
func (c *Conf) table(name string) (mountTable, error) {
	if name == "" {
		name = c.defaultTable()
	}
	t := mountTable{name: name, links: make(map[string]string)}
	prefix := "fs.viewfs.mounttable." + name + "."
	found := false
	for key := range c.values {
		kind, ok := strings.CutPrefix(key, prefix)
		if !ok {
			continue
		}
		found = true
		target := strings.TrimRight(c.Get(key), "/")
		kind, link, _ := strings.Cut(kind, ".")
		switch kind {
		case "link":
			t.links[path.Clean("/"+link)] = target
		case "linkFallback":
			t.fallback = target
		case "linkMergeSlash":
			t.links["/"] = target
		case "linkMerge", "linkNfly", "linkRegex":
			return t, c.wrong("%s: links of this kind cannot be read", key)
		}
	}
	if !found {
		return t, c.wrong("it has no mount table %q: %s", name, c.tables())
	}
	return t, nil
}

// defaultTable returns the name of the table of viewfs:///.
func (c *Conf) defaultTable() string {
	if name, ok := strings.CutPrefix(c.DefaultFS(), "viewfs://"); ok && name != "" {
		return name
	}
	if name := c.Get("fs.viewfs.mounttable.default.name.key"); name != "" {
		return name
	}
	return "default"
}

func (c *Conf) tables() string {
	var names []string
	for key := range c.values {
		rest, ok := strings.CutPrefix(key, "fs.viewfs.mounttable.")
		name, kind, _ := strings.Cut(rest, ".")
		if ok && strings.HasPrefix(kind, "link") && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "there is no fs.viewfs.mounttable property"
	}
	slices.Sort(names)
	return "it has " + strings.Join(names, ", ")
}

// mounted returns where a path of a mount table leads: the longest link that covers it wins.
func (c *Conf) mounted(table, file string) (string, error) {
	t, err := c.table(table)
	if err != nil {
		return "", err
	}
	file = path.Clean("/" + file)
	for at := file; ; at = path.Dir(at) {
		if target, ok := t.links[at]; ok {
			return target + strings.TrimSuffix(file[len(strings.TrimRight(at, "/")):], "/"), nil
		}
		if at == "/" {
			break
		}
	}
	switch {
	case len(t.children(file)) > 0:
		return "", c.wrong("viewfs://%s%s: %w: %s", t.name, file, ErrMounts, strings.Join(t.children(file), ", "))
	case t.fallback != "":
		return t.fallback + strings.TrimSuffix(file, "/"), nil
	}
	return "", c.wrong("%w: the mount table %s has no link for %s, only %s", ErrNoLink, t.name, file, strings.Join(slices.Sorted(maps.Keys(t.links)), ", "))
}

// children lists the names in a directory that holds nothing but links, sorted.
func (t mountTable) children(dir string) []string {
	if _, ok := t.links["/"]; ok {
		return nil
	}
	below := strings.TrimRight(dir, "/") + "/"
	var names []string
	for link := range t.links {
		rest, ok := strings.CutPrefix(link, below)
		name, _, _ := strings.Cut(rest, "/")
		if ok && name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
