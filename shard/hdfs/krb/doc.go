// Package krb keeps a Kerberos client logged in: from a keytab, or from the ticket cache that kinit
// and its like keep in a file.
//
// Which credentials a [Source] uses, the first of these that is given:
//
//  1. Options.Keytab, with Options.Principal or the keytab's first principal
//  2. Options.CCache
//  3. KRB5_CLIENT_KTNAME, a keytab
//  4. KRB5CCNAME, else default_ccache_name of krb5.conf, else /tmp/krb5cc_UID: a ticket cache
//
// Only ticket caches in files are read: KEYRING:, KCM:, DIR: and MEMORY: belong to other programs,
// and the error explains how to get a file.
//
// krb5.conf is Options.Config, else KRB5_CONFIG (several files, separated by colons), else
// /etc/krb5.conf, with its include and includedir lines. KDCs are asked by TCP unless
// udp_preference_limit says otherwise, and are looked up in the DNS for realms without one, as MIT
// Kerberos does by default.
//
// A keytab's client renews its own ticket. A ticket cache cannot be renewed by its reader, but it
// is read again when the file changes (another inode, size or time of modification), as is a
// keytab. Each new client has a new generation, by which users of connections that were made with
// an older one know that they should be made again. While a changed file cannot be read, or the KDC
// does not answer, a client whose ticket is valid stays in use.
//
// Errors wrap [github.com/shardfeed/shardfeed/shard.ErrDenied] or, for a KDC that does not answer,
// ErrTransient; they name files and principals, never a key or a ticket.
//
// A Source owns one goroutine during a login, and the goroutines of its clients (gokrb5 starts one
// for each ticket that it renews). Close ends all of them; call it when no client is in use any
// more.
package krb
