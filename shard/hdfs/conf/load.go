package conf

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shardfeed/shardfeed/internal/regular"
)

// sites are the files of a configuration, in the order in which they are read.
var sites = []string{"core-site.xml", "hdfs-site.xml"}

const (
	maxFile    = 16 << 20 // bytes of one file
	maxInclude = 8        // files that include each other
)

// Load reads the configuration in a directory. One of its files may be absent, but not both.
func Load(dir string) (*Conf, error) {
	c := &Conf{dir: dir, values: make(map[string]string), finals: make(map[string]bool)}
	read := 0
	for _, site := range sites {
		path := filepath.Join(dir, site)
		_, absent := os.Stat(path)
		switch err := c.load(path, nil); {
		case errors.Is(err, fs.ErrNotExist) && absent != nil:
		case err != nil:
			return nil, fmt.Errorf("%w: %w", ErrConfig, err)
		default:
			read++
		}
	}
	if read == 0 {
		return nil, fmt.Errorf("%w: neither %s is in %q", ErrConfig, strings.Join(sites, " nor "), dir)
	}
	return c, c.check()
}

func (c *Conf) check() error {
	for _, name := range slices.Sorted(maps.Keys(c.values)) {
		if _, err := c.expand(name); err != nil {
			return c.wrong("%w", err)
		}
	}
	return nil
}

// load reads one file. Above are the files that include it.
func (c *Conf) load(path string, above []string) error {
	path = filepath.Clean(path)
	if slices.Contains(above, path) {
		return fmt.Errorf("%s includes itself", path)
	}
	if len(above) >= maxInclude {
		return fmt.Errorf("%s: %d files include each other, which is too deep", path, maxInclude)
	}
	f, err := regular.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return err
	}
	if len(content) > maxFile {
		return fmt.Errorf("%s: it has more than %d bytes, the most for a configuration", path, maxFile)
	}
	include := func(href string) error {
		if !filepath.IsAbs(href) {
			href = filepath.Join(filepath.Dir(path), href)
		}
		return c.load(href, append(slices.Clip(above), path))
	}
	if err := (parser{add: c.add, include: include}).document(newDecoder(content)); err != nil {
		return fmt.Errorf("%s:%w", path, err)
	}
	return nil
}

// add takes a property of a file, unless an earlier one is final.
func (c *Conf) add(p property) {
	name := canonical(p.name)
	if name == "" || c.finals[name] {
		return
	}
	if p.hasValue {
		c.values[name] = strings.TrimSpace(p.value)
	}
	if p.final {
		c.finals[name] = true
	}
}

// newDecoder reads UTF-8, and the older encodings of which it is the extension or that map to it
// byte by byte.
func newDecoder(content []byte) *xml.Decoder {
	d := xml.NewDecoder(strings.NewReader(string(content)))
	d.CharsetReader = func(charset string, r io.Reader) (io.Reader, error) {
		switch strings.ToLower(charset) {
		case "us-ascii", "ascii", "utf8":
			return r, nil
		case "iso-8859-1", "latin1", "windows-1252":
			b, err := io.ReadAll(r)
			wide := make([]rune, len(b))
			for i, c := range b {
				wide[i] = rune(c)
			}
			return strings.NewReader(string(wide)), err
		}
		return nil, fmt.Errorf("the encoding %q is unknown", charset)
	}
	return d
}
