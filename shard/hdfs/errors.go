package hdfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"slices"
	"strings"

	"github.com/colinmarc/hdfs/v2"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/hdfs/conf"
	"github.com/shardfeed/shardfeed/shard/hdfs/krb"
	"github.com/shardfeed/shardfeed/shard/hdfs/webhdfs"
	"github.com/shardfeed/shardfeed/shard/hdfs/wire"
)

// ErrUnfinished is a file that somebody is still writing, however it is read.
var ErrUnfinished = webhdfs.ErrUnfinished

// errNoDatanode is a block that no datanode holds, as far as the namenode knows.
var errNoDatanode = errors.New("no datanode holds the block")

// errNative is a file that cannot be read natively, or not so that it is verified; how says why.
type errNative struct {
	how  string
	word bool // the user's word is enough to read it all the same
}

func (e *errNative) Error() string { return e.how }

// The exceptions of namenodes that mean something to a reader, by their last names.
var (
	notExist = []string{"FileNotFoundException", "ParentNotDirectoryException", "InvalidPathException", "PathNotFoundException", "UnresolvedLinkException"}
	denied   = []string{"AccessControlException", "AuthorizationException", "AuthenticationException", "SaslException", "InvalidToken"}
	passing  = []string{
		"RetriableException", "SafeModeException", "StandbyException", "ObserverRetryOnActiveException", "ServerTooBusyException",
		"RpcServerException", "FatalRpcServerException", "ConnectException", "InterruptedIOException", "RetryCacheException",
	}
)

// exception is the last name of a namenode's exception class, or "".
func exception(err error) string {
	name := ""
	var remote hdfs.Error
	var fatal *fatalError
	switch {
	case errors.As(err, &remote):
		name = remote.Exception()
	case errors.As(err, &fatal):
		name = fatal.exception
	}
	name = name[strings.LastIndexByte(name, '.')+1:]
	return name[strings.LastIndexByte(name, '$')+1:]
}

// said is the first line of a namenode's own words, which the library's text leaves out.
func said(err error) string {
	var remote hdfs.Error
	if !errors.As(err, &remote) {
		return ""
	}
	line, _, _ := strings.Cut(strings.TrimSpace(remote.Message()), "\n")
	if line == "" {
		return ""
	}
	return ": " + line
}

// readError gives the library's errors a kind that it keeps to itself.
func readError(err error, pos int64) error {
	switch text := err.Error(); {
	case text == "no available datanodes":
		return fmt.Errorf("%w at byte %d", errNoDatanode, pos)
	case text == "invalid offset": // the blocks are not those of the file that was looked at, which the next look finds out
		return fmt.Errorf("%w at byte %d, the file's blocks end before it", errNoDatanode, pos)
	case strings.Contains(text, "cannot parse invalid wire-format data"): // it loses count in streams that are signed, or encrypted by RC4
		return &errNative{how: "transfers under this protection cannot be read natively"}
	}
	return err
}

// namenodeFault reports whether an error is one of the connection to a namenode, or of a namenode
// that cannot answer now.
func namenodeFault(err error) bool {
	var transfer *wire.Error
	if err == nil || errors.As(err, &transfer) || handshake(err) || final(err) {
		return false
	}
	if name := exception(err); name != "" {
		return slices.Contains(passing, name)
	}
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, shard.ErrTransient) || brokenCall(err)
}

// final reports whether an error is one of files, rights or credentials here; some of them look
// like errors of the network (syscall.ENOENT is a net.Error).
func final(err error) bool {
	for _, kind := range []error{fs.ErrNotExist, fs.ErrPermission, fs.ErrInvalid, shard.ErrNotExist, shard.ErrDenied, shard.ErrBadURI, conf.ErrConfig} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// brokenCall reports whether the library has no connection, or lost track of it. It keeps these
// errors to itself, so that their texts must tell.
func brokenCall(err error) bool {
	for _, text := range []string{"no available namenodes", "unexpected sequence number", "invalid response from namenode", "SASL"} {
		if strings.Contains(err.Error(), text) {
			return true
		}
	}
	return false
}

func noSuchHost(err error) bool { return strings.Contains(err.Error(), "no such host") }

func refused(err error) bool {
	var transfer *wire.Error
	return !errors.As(err, &transfer) && strings.Contains(err.Error(), "connection refused")
}

// handshake reports whether a client was not let in for its credentials. The library keeps only the
// text.
func handshake(err error) bool {
	if err == nil {
		return false
	}
	text := err.Error()
	return strings.Contains(text, "kerberos authentication not supported") ||
		strings.Contains(text, "SASL handshake") && (strings.Contains(text, "KRB") || strings.Contains(text, "KDC_Error"))
}

func retryable(err error) bool {
	var transfer *wire.Error
	return err != nil && (namenodeFault(err) || errors.As(err, &transfer) || errors.Is(err, errNoDatanode))
}

// classify puts an error into the words of package shard.
func classify(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	if isKind(err) {
		return err
	}
	return classifyNamenode(err)
}

// isKind reports whether an error has a kind that upper layers ask for.
func isKind(err error) bool {
	for _, kind := range []error{
		shard.ErrNotExist, shard.ErrChanged, shard.ErrCorrupt, shard.ErrTransient, shard.ErrDenied, shard.ErrBadURI, ErrUnfinished, fs.ErrClosed,
		context.Canceled, context.DeadlineExceeded,
	} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

func classifyNamenode(err error) error {
	var transfer *wire.Error
	name := exception(err)
	switch {
	case errors.As(err, &transfer):
		return classifyTransfer(transfer)
	case errors.Is(err, fs.ErrNotExist), slices.Contains(notExist, name):
		return shard.ErrNotExist
	case errors.Is(err, fs.ErrPermission):
		return shard.ErrDenied
	case name == notRPC:
		return fmt.Errorf("%w: %w", shard.ErrBadURI, err)
	case slices.Contains(denied, name), handshake(err):
		return fmt.Errorf("%w: %w%s", shard.ErrDenied, err, said(err))
	case namenodeFault(err), errors.Is(err, errNoDatanode):
		return fmt.Errorf("%w: %w", shard.ErrTransient, err)
	}
	return err
}

// classifyTransfer: damaged or lost replicas are corrupt, what the network did is passing.
func classifyTransfer(err *wire.Error) error {
	for _, kind := range []error{wire.ErrChecksum, wire.ErrProtocol, wire.ErrShort, wire.ErrNull} {
		if errors.Is(err, kind) {
			return fmt.Errorf("%w: every replica failed, the last one: %w", shard.ErrCorrupt, err)
		}
	}
	if errors.Is(err, wire.ErrRefused) && (strings.Contains(err.Error(), "FileNotFound") || strings.Contains(err.Error(), "ReplicaNotFound")) {
		return fmt.Errorf("%w: every replica failed, the last one: %w", shard.ErrCorrupt, err)
	}
	return fmt.Errorf("%w: every replica failed, the last one: %w", shard.ErrTransient, err)
}

// wrap makes the error that a caller sees. A context's end stays what it is.
func wrap(op, uri string, err error) error {
	if e := (*shard.Error)(nil); errors.As(err, &e) {
		return err
	}
	if e := (*krb.Error)(nil); errors.As(err, &e) {
		return &shard.Error{Op: op, URI: uri, Err: fmt.Errorf("no ticket of Kerberos: %w", e.Err), Hint: e.Hint} // whose own text holds the hint, too
	}
	err = classify(err)
	return &shard.Error{Op: op, URI: uri, Err: err, Hint: hint(err)}
}

func hint(err error) string {
	var fatal *fatalError
	var native *errNative
	switch {
	case errors.As(err, &native) && native.word:
		return "set hdfs.webhdfs or dfs.namenode.http-address, so that it is read by WebHDFS, or allow it with hdfs.allow_unverified"
	case errors.As(err, &native):
		return "set hdfs.webhdfs or dfs.namenode.http-address, so that it is read by WebHDFS"
	case errors.Is(err, wire.ErrNull):
		return "files written with dfs.checksum.type=NULL need hdfs.allow_unverified"
	case errors.As(err, &fatal) && fatal.exception == notRPC:
		return "hdfs:// takes the port for RPC, often 8020; webhdfs:// takes the one for HTTP, often 9870"
	case errors.As(err, &fatal) && strings.Contains(fatal.message, "SIMPLE authentication is not enabled"):
		return "the cluster wants Kerberos: set hadoop.security.authentication, and hdfs.keytab or run kinit"
	case handshake(err):
		return "check the principal of the namenodes, dfs.namenode.kerberos.principal, and krb5.conf"
	case errors.Is(err, errNoDatanode):
		return "hdfs fsck FILE -blocks -locations says what became of it"
	case errors.Is(err, ErrUnfinished):
		return "wait until its writer closes it, or leave it out; where the writer died, hdfs debug recoverLease closes it"
	case noSuchHost(err):
		return "a nameservice needs the configuration that names its namenodes: set HADOOP_CONF_DIR or hdfs.conf_dir"
	case refused(err):
		return "nothing listens there: hdfs:// takes the namenode's port for RPC, often 8020; shardfeed doctor tries it"
	case errors.Is(err, shard.ErrDenied):
		return "hdfs dfs -ls shows who may read it; it is read as hdfs.user, HADOOP_USER_NAME, the user of this process, or who Kerberos says"
	case errors.Is(err, shard.ErrTransient):
		return "see whether the namenode and the datanodes can be reached from here; shardfeed doctor tries it"
	}
	return ""
}
