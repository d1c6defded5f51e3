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

type property struct {
	name, value string
	hasValue    bool
	final       bool
}

// An element is one of a file, with what it holds.
type element struct {
	XMLName  xml.Name
	Attrs    []xml.Attr `xml:",any,attr"`
	Text     string     `xml:",chardata"`
	Children []element  `xml:",any"`

	line int
}

// UnmarshalXML records the start of the element.
func (e *element) UnmarshalXML(d *xml.Decoder, start xml.StartElement) error {
	type plain element // has no UnmarshalXML
	e.line, _ = d.InputPos()
	return d.DecodeElement((*plain)(e), &start)
}

// A parser takes the settings of one file: <configuration> with properties, includes and
// configurations in it. Other elements are passed over.
type parser struct {
	add     func(property)
	include func(href string) error
}

// document reads the whole file, whose root is a configuration. Its error starts with the line.
func (p parser) document(d *xml.Decoder) error {
	var root element
	err := d.Decode(&root)
	line, _ := d.InputPos()
	switch {
	case errors.Is(err, io.EOF):
		err = errors.New("it holds no <configuration>")
	case err == nil && root.XMLName.Local != "configuration":
		err = fmt.Errorf("it holds <%s>, not <configuration>", root.XMLName.Local)
	}
	if err != nil {
		return fmt.Errorf("%d: %w", line, err)
	}
	return p.configuration(&root)
}

// configuration reads the content of a <configuration>, or of the <xi:fallback> of an include.
func (p parser) configuration(e *element) error {
	for i := range e.Children {
		child, err := &e.Children[i], error(nil)
		switch child.XMLName.Local {
		case "property":
			p.add(child.property())
		case "configuration":
			err = p.configuration(child)
		case "include":
			err = p.includeElement(child)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// property reads a setting: its parts are elements, or attributes.
func (e *element) property() (found property) {
	for _, a := range e.Attrs {
		found.set(a.Name.Local, a.Value)
	}
	for _, child := range e.Children {
		found.set(child.XMLName.Local, child.Text)
	}
	return found
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

// includeElement reads another file, or the fallback when that is absent.
func (p parser) includeElement(e *element) error {
	href, err := includedPath(e)
	if err == nil {
		err = p.include(href)
	}
	if errors.Is(err, fs.ErrNotExist) {
		for i := range e.Children {
			if e.Children[i].XMLName.Local == "fallback" {
				return p.configuration(&e.Children[i])
			}
		}
		err = fmt.Errorf("the included file cannot be read: %v", err)
	}
	if err != nil {
		return fmt.Errorf("%d: %w", e.line, err)
	}
	return nil
}

func includedPath(e *element) (string, error) {
	href := ""
	for _, a := range e.Attrs {
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
