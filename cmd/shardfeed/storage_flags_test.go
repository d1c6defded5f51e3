package main

import (
	"reflect"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/shardfeed/shardfeed/shard/all"
	"github.com/shardfeed/shardfeed/shard/hdfs"
	"github.com/shardfeed/shardfeed/shard/s3"
)

// What the flags say reaches the drivers; a flag wins over a key.
func TestStorageFlags(t *testing.T) {
	cases := []struct {
		args string
		want all.Options
	}{
		{"", all.Options{}},
		{
			"--endpoint-url http://h:1 --region r --profile p --request-payer requester --ca-bundle c",
			all.Options{
				S3:   s3.Options{EndpointURL: "http://h:1", Region: "r", Profile: "p", RequesterPays: true, CABundle: "c"},
				HDFS: hdfs.Options{CABundle: "c"},
			},
		},
		{"--no-sign-request", all.Options{S3: s3.Options{Anonymous: true}}},
		{
			"--storage-option key=k --storage-option secret=s --storage-option client_kwargs.region_name=a --region b",
			all.Options{S3: s3.Options{Key: "k", Secret: "s", Region: "b"}},
		},
		{
			"--hdfs-conf d --keytab k --principal p@R",
			all.Options{HDFS: hdfs.Options{ConfDir: "d", Keytab: "k", Principal: "p@R"}},
		},
		{
			"--storage-option hdfs.user=u --storage-option dfs.blocksize=1 --storage-option kerb_ticket=t",
			all.Options{HDFS: hdfs.Options{User: "u", CCache: "t", Conf: map[string]string{"dfs.blocksize": "1"}}},
		},
	}
	for _, c := range cases {
		t.Run(c.args, func(t *testing.T) {
			var f storageFlags
			fs := pflag.NewFlagSet("", pflag.ContinueOnError)
			f.storage(fs)
			if err := fs.Parse(strings.Fields(c.args)); err != nil {
				t.Fatalf("%s: %v", c.args, err)
			}
			if err := f.checkStorage(fs); err != nil {
				t.Errorf("%s: %v", c.args, err)
			}
			if got, err := f.stores(); err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("%s: %v\n got %+v\nwant %+v", c.args, err, got, c.want)
			}
		})
	}
}
