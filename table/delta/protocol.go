package delta

import (
	"fmt"
	"slices"
	"strings"
)

// A protocol is the version and the features that a reader of the table needs.
type protocol struct {
	Reader   int32    `json:"minReaderVersion"`
	Features []string `json:"readerFeatures"`
}

const (
	columnMapping = "columnMapping"
	maxReader     = 3
)

// known are the reader features that this package reads.
var known = []string{
	columnMapping, "deletionVectors", "timestampNtz", "typeWidening", "typeWidening-preview", "v2Checkpoint", "vacuumProtocolCheck",

	// These allow columns of a type that the schema does not read, and change nothing else.
	"variantType", "variantType-preview", "variantShredding", "variantShredding-preview",
}

// remedies are hints for some unknown features, by the start of their names.
var remedies = []struct{ start, hint string }{
	{"catalog", "read the table by its catalog's Iceberg REST address, or copy it to a table without the feature"},
	{"geo", "copy the table without its columns of geometries"},
}

// check refuses a table that needs more than this package knows.
func (p *protocol) check() error {
	if p.Reader > maxReader {
		return &hinted{
			fmt.Errorf("the table needs a reader of version %d, and this program is one of version %d", p.Reader, maxReader),
			"use a newer version of this program",
		}
	}
	var unknown []string
	hint := "drop the feature from the table, or copy the table without it"
	for _, f := range p.Features {
		if slices.Contains(known, f) {
			continue
		}
		unknown = append(unknown, f)
		for _, r := range remedies {
			if strings.HasPrefix(f, r.start) {
				hint = r.hint
			}
		}
	}
	switch len(unknown) {
	case 0:
		return nil
	case 1:
		return &hinted{fmt.Errorf("the table has the feature %s, which cannot be read", unknown[0]), hint}
	}
	slices.Sort(unknown)
	return &hinted{fmt.Errorf("the table has the features %s, which cannot be read", strings.Join(unknown, ", ")), hint}
}

// maps reports whether files may know columns by other names.
func (p *protocol) maps() bool {
	return p.Reader == 2 || slices.Contains(p.Features, columnMapping)
}
