package conf

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"strings"
)

// A property is one setting of a file.
type property struct {
	name, value string
	hasValue    bool
	final       bool
}

// A parser reads one file: <configuration> with properties, includes and configurations in it.
// Other elements are passed over.
type parser struct {
	*xml.Decoder
	add     func(property)
	include func(href string) error
	depth   int
}

// document reads the whole file, whose root is a configuration.
func (p *parser) document() error {
	for {
		t, err := p.Token()
		if err == io.EOF {
			return errors.New("it holds no <configuration>")
		}
		if err != nil {
			return err
		}
		e, ok := t.(xml.StartElement)
		switch {
		case !ok:
		case e.Name.Local != "configuration":
			return fmt.Errorf("it holds <%s>, not <configuration>", e.Name.Local)
		default:
			return p.configuration()
		}
	}
}

// configuration reads what stands in a <configuration>, or in the <xi:fallback> of an include, up
// to its end.
func (p *parser) configuration() error {
	if p.depth++; p.depth > maxNested {
		return fmt.Errorf("over %d elements within each other", maxNested)
	}
	defer func() { p.depth-- }()
	return p.children(func(e xml.StartElement) error {
		switch e.Name.Local {
		case "property":
			return p.property(e)
		case "configuration":
			return p.configuration()
		case "include":
			return p.includeElement(e)
		}
		return p.Skip()
	})
}

// children hands each element up to the end of the one that is open to f, which reads it to its
// end.
func (p *parser) children(f func(xml.StartElement) error) error {
	for {
		t, err := p.Token()
		if err != nil {
			return err
		}
		switch e := t.(type) {
		case xml.StartElement:
			if err := f(e); err != nil {
				return err
			}
		case xml.EndElement:
			return nil
		}
	}
}

// property reads a setting: its parts are elements, or attributes.
func (p *parser) property(e xml.StartElement) error {
	var found property
	for _, a := range e.Attr {
		found.set(a.Name.Local, a.Value)
	}
	err := p.children(func(e xml.StartElement) error {
		text, err := p.text()
		found.set(e.Name.Local, text)
		return err
	})
	if err == nil {
		p.add(found)
	}
	return err
}

func (f *property) set(part, text string) {
	switch part {
	case "name":
		f.name = text
	case "value":
		f.value, f.hasValue = text, true
	case "final":
		f.final = strings.TrimSpace(text) == "true"
	}
}

// text reads the characters up to the end of the element that is open.
func (p *parser) text() (string, error) {
	var b strings.Builder
	for {
		t, err := p.Token()
		if err != nil {
			return "", err
		}
		switch e := t.(type) {
		case xml.CharData:
			b.Write(e)
		case xml.StartElement:
			if err := p.Skip(); err != nil {
				return "", err
			}
		case xml.EndElement:
			return b.String(), nil
		}
	}
}

// includeElement reads another file, or the fallback when that is absent.
func (p *parser) includeElement(e xml.StartElement) error {
	href, err := includedPath(e)
	if err != nil {
		return err
	}
	err = p.include(href)
	absent := errors.Is(err, fs.ErrNotExist)
	if err != nil && !absent {
		return err
	}
	fallback := false
	inner := p.children(func(e xml.StartElement) error {
		if e.Name.Local != "fallback" || !absent {
			return p.Skip()
		}
		fallback = true
		return p.configuration()
	})
	if inner == nil && absent && !fallback {
		return fmt.Errorf("the included file cannot be read: %v", err)
	}
	return inner
}

// includedPath is the path of the file that an include names.
func includedPath(e xml.StartElement) (string, error) {
	href := ""
	for _, a := range e.Attr {
		if a.Name.Local == "href" {
			href = strings.TrimSpace(a.Value)
		}
	}
	u, err := url.Parse(href)
	switch {
	case href == "":
		return "", errors.New("an include without a file")
	case err != nil || u.Scheme == "": // a path with odd characters, or a plain one
		return href, nil
	case u.Scheme == "file":
		return u.Path, nil
	}
	return "", fmt.Errorf("an include of %s: only files are included", u.Redacted())
}
