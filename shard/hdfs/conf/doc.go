// Package conf reads the configuration of a Hadoop client: the namenodes of hdfs://nameservice, and
// the targets of viewfs://.
//
// [Find] finds the directory of the configuration, [Load] reads core-site.xml and hdfs-site.xml
// there as Hadoop reads them:
//
//   - A later file or property wins over an earlier one, but nothing over a property that is final.
//   - Names and values are trimmed. ${name} refers to another property; ${env.NAME},
//     ${env.NAME-word} and ${env.NAME:-word} to a variable of the environment. Unknown names are
//     left as they are. A value that refers to itself is an error of Load.
//   - xi:include names a file beside its own. A file that includes itself is an error, as is a
//     missing one without xi:fallback.
//   - Deprecated names set the ones that replaced them (fs.default.name sets fs.defaultFS).
//
// [Conf.Resolve] turns an address into one that names a nameservice or a namenode: hdfs:///path by
// fs.defaultFS, viewfs:// by its mount table. [Conf.Nameservice] gives the addresses of the
// namenodes behind it. Nameservices are kept apart: an address of one never leads to the namenodes
// of another.
//
// The package opens the configuration's files and nothing else; it resolves no host names. A Conf
// does not change and is safe for concurrent use.
package conf
