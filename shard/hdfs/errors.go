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
	if remote := hdfs.Error(nil); errors.As(err, &remote) {
		name = remote.Exception()
	} else if fatal, ok := errors.AsType[*fatalError](err); ok {
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
	case text == "invalid offset": // the blocks belong to another version of the file, which the next look detects
		return fmt.Errorf("%w at byte %d, the file's blocks end before it", errNoDatanode, pos)
	case strings.Contains(text, "cannot parse invalid wire-format data"): // it loses count in streams that are signed, or encrypted by RC4
		return &errNative{how: "transfers under this protection cannot be read natively"}
	}
	return err
}

// namenodeFault reports whether the connection to a namenode failed, or it cannot answer now.
func namenodeFault(err error) bool {
	if err == nil || isTransfer(err) || handshake(err) || isAny(err, finals...) {
		return false
	}
	if name := exception(err); name != "" {
		return slices.Contains(passing, name)
	}
	_, network := errors.AsType[net.Error](err)
	return network || isAny(err, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, shard.ErrTransient) || brokenCall(err)
}

// finals are the errors of files, rights or credentials here; some of them look like errors of the
// network (syscall.ENOENT is a net.Error).
var finals = []error{fs.ErrNotExist, fs.ErrPermission, fs.ErrInvalid, shard.ErrNotExist, shard.ErrDenied, shard.ErrBadURI, conf.ErrConfig}

func isAny(err error, kinds ...error) bool {
	return slices.ContainsFunc(kinds, func(kind error) bool { return errors.Is(err, kind) })
}

// isTransfer reports whether an error is one of the connection to a datanode.
func isTransfer(err error) bool {
	_, ok := errors.AsType[*wire.Error](err)
	return ok
}

// brokenCall reports whether the library has no connection, or lost track of it. These errors are
// private, so the text decides.
func brokenCall(err error) bool {
	texts := []string{"no available namenodes", "unexpected sequence number", "invalid response from namenode", "SASL"}
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(err.Error(), text) })
}

func noSuchHost(err error) bool { return strings.Contains(err.Error(), "no such host") }

func refused(err error) bool {
	return !isTransfer(err) && strings.Contains(err.Error(), "connection refused")
}

// handshake reports whether a client was refused for its credentials. Only the text shows it.
func handshake(err error) bool {
	if err == nil {
		return false
	}
	text := err.Error()
	return strings.Contains(text, "kerberos authentication not supported") ||
		strings.Contains(text, "SASL handshake") && (strings.Contains(text, "KRB") || strings.Contains(text, "KDC_Error"))
}

func retryable(err error) bool {
	return err != nil && (namenodeFault(err) || isTransfer(err) || errors.Is(err, errNoDatanode))
}

func classify(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		err = path.Err
	}
	if isAny(err, kinds...) {
		return err
	}
	return classifyNamenode(err)
}

// kinds are the errors that upper layers ask for.
var kinds = []error{
	shard.ErrNotExist, shard.ErrChanged, shard.ErrCorrupt, shard.ErrTransient, shard.ErrDenied, shard.ErrBadURI, ErrUnfinished, fs.ErrClosed,
	context.Canceled, context.DeadlineExceeded,
}

func classifyNamenode(err error) error {
	name := exception(err)
	switch {
	case isTransfer(err):
		return classifyTransfer(err)
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
func classifyTransfer(err error) error {
	transfer, _ := errors.AsType[*wire.Error](err)
	kind, text := shard.ErrTransient, transfer.Error()
	if isAny(err, wire.ErrChecksum, wire.ErrProtocol, wire.ErrShort, wire.ErrNull) ||
		errors.Is(err, wire.ErrRefused) && (strings.Contains(text, "FileNotFound") || strings.Contains(text, "ReplicaNotFound")) {
		kind = shard.ErrCorrupt
	}
	return fmt.Errorf("%w: every replica failed, the last one: %w", kind, transfer)
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
	fatal, isFatal := errors.AsType[*fatalError](err)
	native, isNative := errors.AsType[*errNative](err)
	switch {
	case isNative && native.word:
		return "set hdfs.webhdfs or dfs.namenode.http-address, so that it is read by WebHDFS, or allow it with hdfs.allow_unverified"
	case isNative:
		return "set hdfs.webhdfs or dfs.namenode.http-address, so that it is read by WebHDFS"
	case errors.Is(err, wire.ErrNull):
		return "files written with dfs.checksum.type=NULL need hdfs.allow_unverified"
	case isFatal && fatal.exception == notRPC:
		return "hdfs:// takes the port for RPC, often 8020; webhdfs:// takes the one for HTTP, often 9870"
	case isFatal && strings.Contains(fatal.message, "SIMPLE authentication is not enabled"):
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
