package main

import (
	"fmt"
	"os"
	"strings"
	"time"
)

const (
	maxAge    = 365 * 24 * time.Hour
	maxMinors = 10
)

// judge returns a line for each module that is too old, and one for each that an exception allows.
// A module is old only when there is a newer release: a finished one may rest for years.
func judge(modules []Module, exceptions map[string]string, now time.Time) (findings, allowed []string) {
	for _, m := range modules {
		why := fault(m, now)
		if why == "" {
			continue
		}
		line := fmt.Sprintf("%s %s %s", m.Path, m.Version, why)
		if reason, ok := exceptions[m.Path+"@"+m.Version]; ok {
			allowed = append(allowed, line+"; "+reason)
		} else {
			findings = append(findings, line)
		}
	}
	return findings, allowed
}

// resting returns the modules that are over a year old and have no newer release, for a reader to
// know.
func resting(modules []Module, now time.Time) []string {
	var lines []string
	for _, m := range modules {
		if m.Update == nil && m.Time != nil && now.Sub(*m.Time) > maxAge {
			lines = append(lines, fmt.Sprintf("%s %s (%s)", m.Path, m.Version, m.Time.Format(time.DateOnly)))
		}
	}
	return lines
}

// fault describes the problem of a module's version, or returns "".
func fault(m Module, now time.Time) string {
	if m.Replace != nil {
		m = *m.Replace
	}
	switch {
	case len(m.Retracted) > 0:
		return "is retracted: " + strings.Join(m.Retracted, "; ")
	case m.Deprecated != "":
		return "is deprecated: " + m.Deprecated
	case m.Update == nil:
		return ""
	case m.Time != nil && now.Sub(*m.Time) > maxAge:
		return fmt.Sprintf("is of %s; the newest is %s", m.Time.Format(time.DateOnly), m.Update.Version)
	case minorsBehind(m.Version, m.Update.Version) >= maxMinors:
		return "is far behind " + m.Update.Version
	}
	return ""
}

// minorsBehind counts minor versions between two releases of one major version.
func minorsBehind(have, newest string) int {
	var major, minor, newMajor, newMinor int
	if n, _ := fmt.Sscanf(have, "v%d.%d", &major, &minor); n != 2 {
		return 0
	}
	if n, _ := fmt.Sscanf(newest, "v%d.%d", &newMajor, &newMinor); n != 2 || major != newMajor {
		return 0
	}
	return newMinor - minor
}

// readExceptions reads lines of module, version and reason into reasons by module@version.
func readExceptions(path string) (map[string]string, error) {
	exceptions := map[string]string{}
	if path == "" {
		return exceptions, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for i, line := range strings.Split(string(text), "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		words := strings.Fields(line)
		if len(words) < 3 {
			return nil, fmt.Errorf("%s:%d: want module, version and reason, got %q", path, i+1, line)
		}
		exceptions[words[0]+"@"+words[1]] = strings.Join(words[2:], " ")
	}
	return exceptions, nil
}
