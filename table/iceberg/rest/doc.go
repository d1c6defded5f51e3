// Package rest opens Iceberg tables by catalogs that speak the Iceberg REST protocol.
//
// An address is iceberg://CATALOG/NAMESPACE.TABLE. The properties of a catalog come from options,
// the environment and ~/.pyiceberg.yaml, by the names and in the order of pyiceberg, so that a
// machine that is set up for pyiceberg needs no more. The catalog answers with the metadata of a
// table; its files are read by the stores of their addresses.
//
// Requests carry a bearer token, given or of the OAuth2 client credentials flow, or a signature of
// AWS (SigV4), by which Glue and S3 Tables are catalogs of this kind.
package rest
