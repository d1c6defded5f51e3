package main

import (
	"maps"
	"strings"

	"github.com/spf13/pflag"

	"github.com/shardfeed/shardfeed/shard"
)

// storageFlags say how shards on servers are reached. They are named as aws-cli and s3fs name them.
type storageFlags struct {
	endpointURL   string
	region        string
	profile       string
	noSignRequest bool
	requestPayer  string
	caBundle      string

	hdfsConf  string
	keytab    string
	principal string

	more keyValues
}

// storage registers the flags that say where remote shards are and as whom they are read.
func (f *storageFlags) storage(fs *pflag.FlagSet) {
	group(fs, storageGroup, func(fs *pflag.FlagSet) {
		fs.StringVar(&f.endpointURL, "endpoint-url", "", "S3: `URL` of a server that is not AWS (default: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, the profile)")
		fs.StringVar(&f.region, "region", "", "S3: region of the bucket (default: AWS_REGION, the profile, else the bucket is asked)")
		fs.StringVar(&f.profile, "profile", "", "S3: profile of ~/.aws/config and ~/.aws/credentials (default: AWS_PROFILE)")
		fs.BoolVar(&f.noSignRequest, "no-sign-request", false, "S3: read a public bucket without credentials")
		fs.StringVar(&f.requestPayer, "request-payer", "", "S3: requester agrees to pay for reading")
		fs.StringVar(&f.caBundle, "ca-bundle", "", "`file` of the certificate authorities that https servers are checked against (default: the system's, AWS_CA_BUNDLE)")
		fs.StringVar(&f.hdfsConf, "hdfs-conf", "", "HDFS: `directory` of core-site.xml and hdfs-site.xml (default: HADOOP_CONF_DIR, HADOOP_HOME/etc/hadoop)")
		fs.StringVar(&f.keytab, "keytab", "", "HDFS: log in by Kerberos with the key in this `file` (default: KRB5_CLIENT_KTNAME, else the tickets of kinit)")
		fs.StringVar(&f.principal, "principal", "", "HDFS: `name` that the keytab is for (default: its first)")
		fs.Var(&f.more, "storage-option", "any other option by its key (s3fs's for S3; hdfs.*, dfs.*, fs.* for HDFS); @FILE.json holds many; may be repeated")
	})
}

// checkStorage checks the flags.
func (f *storageFlags) checkStorage(fs *pflag.FlagSet) error {
	for _, name := range [...]string{"endpoint-url", "region", "profile", "ca-bundle", "hdfs-conf", "keytab", "principal"} {
		if fs.Changed(name) && fs.Lookup(name).Value.String() == "" {
			return usagef(`--%s must not be empty, got ""`, name)
		}
	}
	switch {
	case fs.Changed("request-payer") && f.requestPayer != "requester":
		return usagef("--request-payer must be requester, got %q", f.requestPayer)
	case fs.Changed("endpoint-url") && !strings.HasPrefix(f.endpointURL, "http://") && !strings.HasPrefix(f.endpointURL, "https://"):
		return usagef("--endpoint-url must begin with http:// or https://, got %q", shard.Redact(f.endpointURL))
	case f.noSignRequest && f.profile != "":
		return usagef("--no-sign-request reads without credentials and --profile names some: leave one out")
	}
	return nil
}

// options are the flags as a spec's Storage.
func (f *storageFlags) options() map[string]string {
	all := maps.Clone(map[string]string(f.more))
	if all == nil {
		all = map[string]string{}
	}
	for key, value := range map[string]string{
		"endpoint-url": f.endpointURL, "region": f.region, "profile": f.profile, "request-payer": f.requestPayer, "ca-bundle": f.caBundle,
		"hdfs-conf": f.hdfsConf, "keytab": f.keytab, "principal": f.principal,
	} {
		if value != "" {
			all[key] = value
		}
	}
	if f.noSignRequest {
		all["no-sign-request"] = "true"
	}
	return all
}
