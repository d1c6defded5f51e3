package hdfs

import (
	"cmp"
	"fmt"
	"os/user"
	"strings"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/hdfs/conf"
	"github.com/shardfeed/shardfeed/shard/hdfs/krb"
)

// A setup has the settings of the configuration and the environment.
type setup struct {
	conf      *conf.Conf
	kerberos  *krb.Source // nil where the cluster takes a user's word
	principal string      // of namenodes, with _HOST for their hosts
	user      string      // without Kerberos

	protection       string // of data transfers: "", "authentication", "integrity", "privacy"
	datanodeHostname bool
}

func newSetup(o Options) (*setup, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	c := conf.New(nil)
	if dir := cmp.Or(o.ConfDir, conf.Find(o.Getenv)); dir != "" {
		var err error
		if c, err = conf.Load(dir); err != nil {
			return nil, err
		}
	}
	s := &setup{conf: c.With(o.Conf)}
	s.protection = protection(s.conf, o.DataTransferProtection)
	s.datanodeHostname = o.UseDatanodeHostname || s.conf.Bool("dfs.client.use.datanode.hostname", false)
	return s, s.identify(o)
}

func (s *setup) identify(o Options) (err error) {
	if !strings.EqualFold(s.conf.Get("hadoop.security.authentication"), "kerberos") && o.Keytab == "" && o.CCache == "" && o.Principal == "" {
		s.user, err = userName(o)
		return err
	}
	s.principal, _, _ = strings.Cut(s.conf.Get("dfs.namenode.kerberos.principal"), "@")
	s.kerberos, err = krb.New(krb.Options{Keytab: o.Keytab, Principal: o.Principal, CCache: o.CCache, Config: o.Krb5Conf}, o.Getenv)
	return err
}

// native checks the settings that the native protocol needs and WebHDFS does not.
func (s *setup) native() error {
	if s.kerberos == nil || s.principal != "" {
		return nil
	}
	return fmt.Errorf("%w: Kerberos needs the principal of the namenodes: set dfs.namenode.kerberos.principal, in the configuration or as an option",
		conf.ErrConfig)
}

// userName is the name that a cluster without Kerberos takes the user's word for.
func userName(o Options) (string, error) {
	if name := cmp.Or(o.User, o.Getenv("HADOOP_USER_NAME")); name != "" {
		return name, nil
	}
	u, err := user.Current()
	if err != nil {
		return "", fmt.Errorf("%w: this process has no user name; set HADOOP_USER_NAME: %w", shard.ErrDenied, err)
	}
	return u.Username, nil
}

// protection is the highest that the configuration names; encryption of transfers is one.
func protection(c *conf.Conf, option string) string {
	switch {
	case option != "":
		return option
	case c.Bool("dfs.encrypt.data.transfer", false):
		return "privacy"
	}
	given := strings.ToLower(c.Get("dfs.data.transfer.protection"))
	for _, level := range []string{"privacy", "integrity", "authentication"} {
		if strings.Contains(given, level) {
			return level
		}
	}
	return ""
}
