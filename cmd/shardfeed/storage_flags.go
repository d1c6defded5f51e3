package main

import (
	"maps"
	"strings"

	"github.com/spf13/pflag"

	"github.com/shardfeed/shardfeed/shard"
)

// storageFlags say how shards on servers are reached. They are named as aws-cli and s3fs name them.
type storageFlags struct {
	named         map[string]*string // those with a text, by their names
	noSignRequest bool
	more          keyValues
}

// storage registers the flags that say where remote shards are and as whom they are read.
func (f *storageFlags) storage(fs *pflag.FlagSet) {
	f.named = map[string]*string{}
	group(fs, storageGroup, func(fs *pflag.FlagSet) {
		text := func(name, usage string) { f.named[name] = fs.String(name, "", usage) }
		text("endpoint-url", "S3: `URL` of a server that is not AWS (default: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, the profile)")
		text("region", "S3: region of the bucket (default: AWS_REGION, the profile, else the bucket is asked)")
		text("profile", "S3: profile of ~/.aws/config and ~/.aws/credentials (default: AWS_PROFILE)")
		fs.BoolVar(&f.noSignRequest, "no-sign-request", false, "S3: read a public bucket without credentials")
		text("request-payer", "S3: requester agrees to pay for reading")
		text("ca-bundle", "`file` of the certificate authorities that https servers are checked against (default: the system's, AWS_CA_BUNDLE)")
		text("hdfs-conf", "HDFS: `directory` of core-site.xml and hdfs-site.xml (default: HADOOP_CONF_DIR, HADOOP_HOME/etc/hadoop)")
		text("keytab", "HDFS: log in by Kerberos with the key in this `file` (default: KRB5_CLIENT_KTNAME, else the tickets of kinit)")
		text("principal", "HDFS: `name` that the keytab is for (default: its first)")
		text("retry-for", "how long requests that fail in passing are made again without progress, as in 5m: while a server restarts, say (default 1m)")
		fs.Var(&f.more, "storage-option", "any other option by its key (s3fs's for S3; hdfs.*, dfs.*, fs.* for HDFS); @FILE.json holds many; may be repeated")
	})
}

// checkStorage checks the flags.
func (f *storageFlags) checkStorage(fs *pflag.FlagSet) error {
	for _, name := range [...]string{"endpoint-url", "region", "profile", "ca-bundle", "hdfs-conf", "keytab", "principal", "retry-for"} {
		if fs.Changed(name) && fs.Lookup(name).Value.String() == "" {
			return usagef(`--%s must not be empty, got ""`, name)
		}
	}
	given := func(name string) string {
		if f.named[name] == nil { // the verb has no such flags
			return ""
		}
		return *f.named[name]
	}
	switch endpoint := given("endpoint-url"); {
	case fs.Changed("request-payer") && given("request-payer") != "requester":
		return usagef("--request-payer must be requester, got %q", given("request-payer"))
	case endpoint != "" && !strings.HasPrefix(endpoint, "http://") && !strings.HasPrefix(endpoint, "https://"):
		return usagef("--endpoint-url must begin with http:// or https://, got %q", shard.Redact(endpoint))
	case f.noSignRequest && given("profile") != "":
		return usagef("--no-sign-request reads without credentials and --profile names some: leave one out")
	}
	return nil
}

// options are the flags as a spec's Storage.
func (f *storageFlags) options() map[string]string {
	all := map[string]string{}
	maps.Copy(all, f.more)
	for key, value := range f.named {
		if *value != "" {
			all[key] = *value
		}
	}
	if f.noSignRequest {
		all["no-sign-request"] = "true"
	}
	return all
}
