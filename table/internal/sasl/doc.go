// Package sasl authenticates connections of Thrift by Kerberos, as TSaslTransport does: by the
// mechanism GSSAPI of RFC 4752, with messages of RFC 4121. Frames follow, which are plain, signed
// or encrypted as the server demands (hadoop.rpc.protection).
package sasl
