package main

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/all"
	"github.com/shardfeed/shardfeed/shard/hdfs"
	"github.com/shardfeed/shardfeed/shard/s3"
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

// storage is where shards are and as whom they are read.
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

// checkStorage finds what cannot be meant.
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
	_, err := f.stores()
	return err
}

// stores are the drivers' options as the flags give them. A flag wins over the key that says the same.
func (f *storageFlags) stores() (o all.Options, err error) {
	forS3, forHDFS := map[string]string{}, map[string]string{}
	for key, value := range f.more {
		if hdfsKey(key) {
			forHDFS[key] = value
			continue
		}
		forS3[key] = value
	}
	if o.S3, err = s3.ParseOptions(forS3); err != nil {
		return o, usagef("--storage-option: %v", err)
	}
	if o.HDFS, err = hdfs.ParseOptions(forHDFS); err != nil {
		return o, usagef("--storage-option: %v", err)
	}
	o.S3.EndpointURL = cmp.Or(f.endpointURL, o.S3.EndpointURL)
	o.S3.Region = cmp.Or(f.region, o.S3.Region)
	o.S3.Profile = cmp.Or(f.profile, o.S3.Profile)
	o.S3.Anonymous = f.noSignRequest || o.S3.Anonymous
	o.S3.RequesterPays = f.requestPayer != "" || o.S3.RequesterPays
	o.S3.CABundle = cmp.Or(f.caBundle, o.S3.CABundle)
	o.HDFS.ConfDir = cmp.Or(f.hdfsConf, o.HDFS.ConfDir)
	o.HDFS.Keytab = cmp.Or(f.keytab, o.HDFS.Keytab)
	o.HDFS.Principal = cmp.Or(f.principal, o.HDFS.Principal)
	o.HDFS.CABundle = cmp.Or(f.caBundle, o.HDFS.CABundle)
	if err := o.S3.Validate(); err != nil {
		return o, usagef("%v", err)
	}
	if err := o.HDFS.Validate(); err != nil {
		return o, usagef("%v", err)
	}
	return o, nil
}

// hdfsKey reports whether a storage option is for HDFS: by what it begins with, or a name that fsspec has for it.
func hdfsKey(key string) bool {
	first, _, dotted := strings.Cut(key, ".")
	return dotted && slices.Contains([]string{"hdfs", "dfs", "fs", "hadoop"}, first) || key == "kerb_ticket" || key == "user"
}
