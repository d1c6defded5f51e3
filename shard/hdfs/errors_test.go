package hdfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/hdfs/krb"
	"github.com/shardfeed/shardfeed/shard/hdfs/wire"
)

// remote is an exception of a namenode, as the library has it.
type remote struct{ class string }

func (r remote) Error() string     { return "call failed (" + r.class + ")" }
func (r remote) Method() string    { return "getFileInfo" }
func (r remote) Desc() string      { return "ERROR_APPLICATION" }
func (r remote) Exception() string { return r.class }
func (r remote) Message() string   { return "Permission denied: user=u\n\tat org.x" }

// The error holds the namenode's own words, without where in its program it found them.
func TestDeniedInWords(t *testing.T) {
	err := wrap("read", "hdfs://h/x", remote{"org.apache.hadoop.security.AccessControlException"})
	if got := err.Error(); !strings.Contains(got, "Permission denied: user=u (hdfs dfs -ls") || strings.Contains(got, "org.x") {
		t.Error(got)
	}
}

func TestClassify(t *testing.T) {
	transfer := func(err error) error { return &wire.Error{Datanode: "dn:1", Block: 7, Err: err} }
	opened := func(err error) error { return &fs.PathError{Op: "open", Path: "/x", Err: err} }
	for _, c := range []struct {
		name  string
		err   error
		kind  error // of package shard
		again bool  // another try can succeed
		hint  string
	}{
		{"absent", opened(fs.ErrNotExist), shard.ErrNotExist, false, ""},
		{"behind a file", opened(remote{"org.apache.hadoop.fs.ParentNotDirectoryException"}), shard.ErrNotExist, false, ""},
		{"denied", opened(fs.ErrPermission), shard.ErrDenied, false, "hdfs.user"},
		{"denied, in words", remote{"org.apache.hadoop.security.AccessControlException"}, shard.ErrDenied, false, "hdfs.user"},
		{"safe mode", opened(remote{"org.apache.hadoop.hdfs.server.namenode.SafeModeException"}), shard.ErrTransient, true, "doctor"},
		{"starting", opened(remote{"org.apache.hadoop.ipc.RetriableException"}), shard.ErrTransient, true, "doctor"},
		{"another exception", opened(remote{"java.lang.NullPointerException"}), nil, false, ""},
		{"end of connection", opened(fmt.Errorf("namenode nn:1: %w", io.EOF)), shard.ErrTransient, true, "doctor"},
		{"silence", opened(os.ErrDeadlineExceeded), shard.ErrTransient, true, "doctor"},
		{"refused", &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, shard.ErrTransient, true, "doctor"},
		{"no namenode", opened(errors.New("no available namenodes: x")), shard.ErrTransient, true, "doctor"},
		{"lost count", errors.New("unexpected sequence number"), shard.ErrTransient, true, "doctor"},
		{"no ticket", errors.New("no available namenodes: SASL handshake: [Root cause: KDC_Error] KRB_AP"), shard.ErrDenied, false, "krb5.conf"},
		{"no Kerberos there", errors.New("SASL handshake: kerberos authentication not supported by namenode"), shard.ErrDenied, false, "principal"},
		{"wants Kerberos", &fatalError{"a.AccessControlException", "SIMPLE authentication is not enabled."}, shard.ErrDenied, false, "kinit"},
		{"no namenode's port", &fatalError{notRPC, "speaks HTTP"}, shard.ErrBadURI, false, "8020"},
		{"no keytab", &krb.Error{Err: fmt.Errorf("%w: %w", shard.ErrDenied, opened(syscall.ENOENT)), Hint: "klist"}, shard.ErrDenied, false, "klist"},
		{"KDC is down", &krb.Error{Err: fmt.Errorf("%w: KDC", shard.ErrTransient)}, shard.ErrTransient, true, ""},
		{"flipped", transfer(wire.ErrChecksum), shard.ErrCorrupt, true, ""},
		{"short", transfer(wire.ErrShort), shard.ErrCorrupt, true, ""},
		{"no checksums", transfer(wire.ErrNull), shard.ErrCorrupt, true, "hdfs.allow_unverified"},
		{"lost replica", transfer(fmt.Errorf("%w: java.io.FileNotFoundException", wire.ErrRefused)), shard.ErrCorrupt, true, ""},
		{"expired token", transfer(fmt.Errorf("%w: status 5", wire.ErrRefused)), shard.ErrTransient, true, "doctor"},
		{"datanode hangs", transfer(os.ErrDeadlineExceeded), shard.ErrTransient, true, "doctor"},
		{"no datanode", fmt.Errorf("%w at byte 5", errNoDatanode), shard.ErrTransient, true, "fsck"},
		{"unfinished", ErrUnfinished, ErrUnfinished, false, "wait"},
		{"striped", &errNative{how: "x"}, nil, false, "hdfs.webhdfs"},
		{"opaque", &errNative{how: "x", word: true}, nil, false, "hdfs.allow_unverified"},
		{"changed", fmt.Errorf("%w: x", shard.ErrChanged), shard.ErrChanged, false, ""},
		{"cancelled", context.Canceled, context.Canceled, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := wrap("read", "hdfs://h/x", c.err)
			if c.kind != nil && !errors.Is(got, c.kind) || c.kind == nil && isAny(got, kinds...) {
				t.Errorf("%v", got)
			}
			if retryable(c.err) != c.again {
				t.Errorf("tried again %v", !c.again)
			}
			var e *shard.Error
			if !errors.As(got, &e) || !strings.Contains(e.Hint, c.hint) || (c.hint == "") != (e.Hint == "") {
				t.Errorf("hint %q", e.Hint)
			}
			if strings.Count(got.Error(), e.Hint) > 1 && e.Hint != "" {
				t.Errorf("its hint comes twice: %v", got)
			}
			if again := wrap("list", "y", got); again != got {
				t.Errorf("wrapped twice: %v", again)
			}
		})
	}
}
