package main

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"
)

func TestKeyValues(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		write(t, filepath.Join(dir, name), content)
		return "@" + filepath.Join(dir, name)
	}
	nested := file("nested.json", `{"anon": true, "key": "a", "client_kwargs": {"region_name": "eu-west-1", "endpoint_url": null}, "max_concurrency": 64}`)
	cases := []struct {
		name  string
		given []string
		want  keyValues
		err   string
	}{
		{"one", []string{"anon=true"}, keyValues{"anon": "true"}, ""},
		{"the last wins", []string{"key=a", "key=b"}, keyValues{"key": "b"}, ""},
		{"a value may hold anything", []string{"token=a=b,c"}, keyValues{"token": "a=b,c"}, ""},
		{"a value may be empty", []string{"key="}, keyValues{"key": ""}, ""},
		{"a file", []string{nested, "key=b"}, keyValues{"anon": "true", "key": "b", "client_kwargs.region_name": "eu-west-1", "max_concurrency": "64"}, ""},
		{"no value", []string{"anon"}, nil, "must be key=value or @FILE.json"},
		{"no key", []string{"=x"}, nil, "must be key=value or @FILE.json"},
		{"no file", []string{"@" + filepath.Join(dir, "none")}, nil, "no such file"},
		{"no object", []string{file("list.json", `[1]`)}, nil, "it holds a JSON array"},
		{"a list", []string{file("lists.json", `{"a": {"b": [1]}}`)}, nil, "a.b must be text, a number, true or false, got a list"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var got keyValues
			var err error
			for _, s := range c.given {
				if err = got.Set(s); err != nil {
					break
				}
			}
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("got %v, want %q", err, c.err)
				}
				return
			}
			if err != nil || !maps.Equal(got, c.want) {
				t.Errorf("got %v, %v, want %v", map[string]string(got), err, map[string]string(c.want))
			}
		})
	}
}

// What is printed of the options never holds a value.
func TestKeyValuesKeepSecrets(t *testing.T) {
	k := keyValues{"secret": "hush", "key": "me"}
	if got := k.String(); got != "key,secret" {
		t.Errorf("got %q", got)
	}
}
