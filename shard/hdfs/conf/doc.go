// Package conf reads the configuration of a Hadoop client: which namenodes stand behind
// hdfs://nameservice, and where viewfs:// leads.
//
// [Find] says where the configuration lies, [Load] reads core-site.xml and hdfs-site.xml of that
// directory as Hadoop reads them:
//
//   - A later file or property wins over an earlier one, but nothing over a property that is final.
//   - Names and values are trimmed. ${name} stands for another property; ${env.NAME},
//     ${env.NAME-word} and ${env.NAME:-word} for a variable of the environment. What is unknown
//     stays as it is written. A value that refers to itself is an error of Load.
//   - xi:include names a file beside the one that it stands in. A file that includes itself is an
//     error, and so is an absent one without xi:fallback.
//   - Deprecated names stand for the ones that replaced them (fs.default.name for fs.defaultFS).
//
// [Conf.Resolve] turns an address into one that names a nameservice or a namenode: hdfs:///path by
// fs.defaultFS, viewfs:// by its mount table. [Conf.Nameservice] gives the addresses of the
// namenodes behind it. Nameservices are kept apart: an address of one never leads to the namenodes
// of another.
//
// The package opens the configuration's files and nothing else; it resolves no host names. A Conf
// does not change and is safe for concurrent use.
package conf
