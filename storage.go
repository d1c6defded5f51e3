package shardfeed

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/shard/all"
	"github.com/shardfeed/shardfeed/shard/hdfs"
	"github.com/shardfeed/shardfeed/shard/s3"
)

// drivers are the options of the stores. An option under the name of a flag wins over the key of
// s3fs or Hadoop that says the same.
func (s Spec) drivers() (o all.Options, err error) {
	named, forS3, forHDFS := map[string]string{}, map[string]string{}, map[string]string{}
	for key, value := range s.Storage {
		switch {
		case slices.Contains(flagNames, key):
			named[key] = value
		case isHDFS(key):
			forHDFS[key] = value
		default:
			forS3[key] = value
		}
	}
	p := option.List{New: newOptionError}
	anonymous := false
	if text, ok := named["no-sign-request"]; ok {
		if anonymous, err = strconv.ParseBool(text); err != nil {
			p.Add("Storage.no-sign-request", "must be true or false, got %q", text)
		}
	}
	parsed := func(err error) {
		if err != nil {
			p.Join(&OptionError{Field: "Storage", Text: "cannot be used: " + option.Literal(err.Error()), Err: err})
		}
	}
	o.S3, err = s3.ParseOptions(forS3)
	parsed(err)
	o.HDFS, err = hdfs.ParseOptions(forHDFS)
	parsed(err)
	o.S3.EndpointURL = cmp.Or(named["endpoint-url"], o.S3.EndpointURL)
	o.S3.Region = cmp.Or(named["region"], o.S3.Region)
	o.S3.Profile = cmp.Or(named["profile"], o.S3.Profile)
	o.S3.Anonymous = anonymous || o.S3.Anonymous
	o.S3.RequesterPays = named["request-payer"] != "" || o.S3.RequesterPays
	o.S3.CABundle = cmp.Or(named["ca-bundle"], o.S3.CABundle)
	if text, ok := named["retry-for"]; ok {
		if o.S3.RetryFor, err = time.ParseDuration(text); err != nil || o.S3.RetryFor <= 0 {
			p.Add("Storage.retry-for", "must be a time above 0 as in \"90s\" or \"5m\", got %q", text)
		}
		o.HDFS.RetryFor = o.S3.RetryFor
	}
	o.HDFS.ConfDir = cmp.Or(named["hdfs-conf"], o.HDFS.ConfDir)
	o.HDFS.Keytab = cmp.Or(named["keytab"], o.HDFS.Keytab)
	o.HDFS.Principal = cmp.Or(named["principal"], o.HDFS.Principal)
	o.HDFS.CABundle = cmp.Or(named["ca-bundle"], o.HDFS.CABundle)
	parsed(o.S3.Validate())
	parsed(o.HDFS.Validate())
	s.giveEnvironment(&o)
	return o, p.Err()
}

// flagNames are the keys of Storage that the command has flags for.
var flagNames = []string{
	"endpoint-url", "region", "profile", "no-sign-request", "request-payer", "ca-bundle", "hdfs-conf", "keytab", "principal", "retry-for",
}

// isHDFS reports whether a storage option is for HDFS: by its prefix, or by a name that fsspec has
// for it.
func isHDFS(key string) bool {
	first, _, dotted := strings.Cut(key, ".")
	return dotted && slices.Contains([]string{"hdfs", "dfs", "fs", "hadoop"}, first) || key == "kerb_ticket" || key == "user"
}

// giveEnvironment lets the stores read Env, where it is given.
func (s Spec) giveEnvironment(o *all.Options) {
	if len(s.Env) == 0 {
		return
	}
	env := maps.Clone(s.Env)
	o.S3.Environ = env
	o.HDFS.Getenv = func(name string) string { return env[name] }
	o.HDFS.User = cmp.Or(o.HDFS.User, env["HADOOP_USER_NAME"])
	o.HDFS.TokenFile = cmp.Or(o.HDFS.TokenFile, env["HADOOP_TOKEN_FILE_LOCATION"])
}
