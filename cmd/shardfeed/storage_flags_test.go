package main

import (
	"maps"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// What the flags say reaches the spec; a flag wins over a key.
func TestStorageFlags(t *testing.T) {
	cases := []struct {
		args string
		want map[string]string
	}{
		{"", map[string]string{}},
		{"--endpoint-url http://h:1 --region r --profile p --request-payer requester --ca-bundle c", map[string]string{
			"endpoint-url": "http://h:1", "region": "r", "profile": "p", "request-payer": "requester", "ca-bundle": "c",
		}},
		{"--no-sign-request", map[string]string{"no-sign-request": "true"}},
		{"--storage-option key=k --storage-option region=a --region b", map[string]string{"key": "k", "region": "b"}},
		{"--hdfs-conf d --keytab k --principal p@R", map[string]string{"hdfs-conf": "d", "keytab": "k", "principal": "p@R"}},
	}
	for _, c := range cases {
		t.Run(c.args, func(t *testing.T) {
			var f flags
			fs := pflag.NewFlagSet("", pflag.ContinueOnError)
			f.add(fs, "storage")
			if err := fs.Parse(strings.Fields(c.args)); err != nil {
				t.Fatalf("%v", err)
			}
			if err := f.checkStorage(fs); err != nil {
				t.Errorf("%v", err)
			}
			if got := f.stores(); !maps.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
