// Licences collects the licences of everything that is linked into the programs: Go's standard
// library, and each module whose packages are linked on any platform that releases are made for.
//
//	licences [-check] [PACKAGE...]
//
// It runs in the module's root and writes THIRD_PARTY_LICENSES (every text once, with the modules
// that it covers) and NOTICE (ours, then those of the modules). With -check it writes nothing and
// fails when a file is not current. A module without a licence is an error.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"sort"
	"strings"
)

const (
	noticeFile   = "NOTICE"
	licencesFile = "THIRD_PARTY_LICENSES"

	ours = "shardfeed\nCopyright The shardfeed authors\n\nLicensed under the Apache License, Version 2.0; see LICENSE.\n" +
		"The programs link the software that THIRD_PARTY_LICENSES lists.\n"
)

func main() {
	check := flag.Bool("check", false, "fail when a file is not current, and write nothing")
	flag.Parse()
	packages := flag.Args()
	if len(packages) == 0 {
		packages = []string{"./cmd/shardfeed"}
	}
	if err := run(*check, packages); err != nil {
		fmt.Fprintln(os.Stderr, "licences:", err)
		os.Exit(1)
	}
}

func run(check bool, packages []string) error {
	modules, err := linked(packages)
	if err != nil {
		return err
	}
	files := map[string][]byte{}
	if files[licencesFile], err = licences(modules); err != nil {
		return err
	}
	files[noticeFile] = notice(modules)
	for name, text := range files {
		if !check {
			if err := os.WriteFile(name, text, 0o644); err != nil {
				return err
			}
			continue
		}
		have, err := os.ReadFile(name)
		if err != nil || !bytes.Equal(have, text) {
			return fmt.Errorf("%s is not that of the linked modules; run bin/licences and commit it", name)
		}
	}
	return nil
}

// licences returns every text once, in the order of the first module that has it, under the names
// of all modules that have it.
func licences(modules []*module) ([]byte, error) {
	var order []string
	covers := map[string][]string{}
	for _, m := range modules {
		found := false
		for _, t := range m.texts {
			if t.notice {
				continue
			}
			found = true
			if covers[t.text] == nil {
				order = append(order, t.text)
			}
			covers[t.text] = append(covers[t.text], m.title(t))
		}
		if !found {
			return nil, fmt.Errorf("module %s has no licence file in %s", m.Path, m.Dir)
		}
	}
	var out bytes.Buffer
	out.WriteString("Licences of the software that is linked into the programs of shardfeed. Written by tools/licences.\n" +
		"The source of a module is what `go mod download MODULE@VERSION` fetches.\n")
	for _, text := range order {
		titles := covers[text]
		sort.Strings(titles)
		fmt.Fprintf(&out, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(titles, "\n"), text)
	}
	return out.Bytes(), nil
}

// notice returns our notice and those of the modules, which the Apache licence asks to pass on.
func notice(modules []*module) []byte {
	var out bytes.Buffer
	out.WriteString(ours)
	for _, m := range modules {
		for _, t := range m.texts {
			if t.notice {
				fmt.Fprintf(&out, "\n%s\n%s\n\n%s\n", strings.Repeat("-", 80), m.title(t), t.text)
			}
		}
	}
	return out.Bytes()
}
