package webhdfs

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/hdfs/proto"
)

// A tokenFile is the delegation tokens that YARN gives to the containers of a job.
//
// The file is Hadoop's token storage: "HDTS", a byte with the format's number, and the tokens,
// either
//
//	0  n, then n times (alias, token); secrets follow. Numbers are Hadoop's variable-length ones,
//	   strings have their length before them.
//	1  a protobuf message of type CredentialsProto, with its length before it
//
// A token is four strings: identifier, password, kind, service. A URL has them in the first form,
// in base64.
type tokenFile struct {
	tokens []delegation
}

type delegation struct {
	identifier, password []byte
	kind, service        string
}

const maxTokenFile = 16 << 20 // bytes

func loadTokens(path string) (*tokenFile, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("%w: delegation tokens: %w", shard.ErrDenied, err)
	}
	if info.Size() > maxTokenFile {
		return nil, fmt.Errorf("%w: %s is not a file of delegation tokens", shard.ErrDenied, path)
	}
	content, err := os.ReadFile(path)
	if err == nil {
		var found *tokenFile
		if found, err = parseTokens(content); err == nil {
			return found, nil
		}
	}
	return nil, fmt.Errorf("%w: delegation tokens of %s: %w", shard.ErrDenied, path, err)
}

var errToken = errors.New("it is damaged, or no file of Hadoop's tokens")

func parseTokens(b []byte) (*tokenFile, error) {
	rest, ok := bytes.CutPrefix(b, []byte("HDTS"))
	if !ok || len(rest) == 0 {
		return nil, errToken
	}
	switch version := rest[0]; version {
	case 0:
		return parseWritable(rest[1:])
	case 1:
		return parseProto(rest[1:])
	default:
		return nil, fmt.Errorf("its format has the number %d, which is unknown", version)
	}
}

// parseWritable reads the older format.
func parseWritable(b []byte) (*tokenFile, error) {
	r := reader{rest: b}
	n := r.number()
	f := &tokenFile{}
	for range n {
		if r.bad {
			break
		}
		r.bytes() // alias
		f.tokens = append(f.tokens, delegation{r.bytes(), r.bytes(), string(r.bytes()), string(r.bytes())})
	}
	if r.bad {
		return nil, errToken
	}
	return f, nil
}

// A reader reads Hadoop's variable-length numbers and strings.
type reader struct {
	rest []byte
	bad  bool // the end came too early
}

// number reads a number in the format of Hadoop's WritableUtils: one byte from -112 to 127, or a
// byte with sign and length, and the bytes of the number, the highest first. This file has no
// negative numbers.
func (r *reader) number() int64 {
	if len(r.rest) == 0 {
		r.bad = true
		return 0
	}
	first := int8(r.rest[0])
	r.rest = r.rest[1:]
	if first >= -112 {
		r.bad = r.bad || first < 0
		return max(int64(first), 0)
	}
	n := -112 - int(first)
	if n > 7 || n > len(r.rest) { // 8 and more: a negative number, or one over 2^56
		r.bad = true
		return 0
	}
	var value int64
	for _, c := range r.rest[:n] {
		value = value<<8 | int64(c)
	}
	r.rest = r.rest[n:]
	return value
}

// bytes reads a string with its length before it.
func (r *reader) bytes() []byte {
	n := r.number()
	if r.bad || n > int64(len(r.rest)) {
		r.bad = true
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

// parseProto reads the newer format: message CredentialsProto { repeated Pair tokens = 1; ... },
// Pair { string alias = 1; Token token = 2; }, Token { bytes identifier = 1; bytes password = 2;
// string kind = 3; string service = 4; }
func parseProto(b []byte) (*tokenFile, error) {
	message, n := protowire.ConsumeBytes(b)
	f, whole := &tokenFile{}, n >= 0
	fields := func(m []byte, visit func(number protowire.Number, value []byte)) {
		whole = proto.Fields(m, func(number protowire.Number, kind protowire.Type, value []byte) {
			if kind == protowire.BytesType {
				visit(number, value)
			}
		}) && whole
	}
	fields(message, func(number protowire.Number, pair []byte) {
		if number != 1 {
			return
		}
		fields(pair, func(number protowire.Number, token []byte) {
			if number == 2 {
				var d delegation
				fields(token, d.set)
				f.tokens = append(f.tokens, d)
			}
		})
	})
	if !whole {
		return nil, errToken
	}
	return f, nil
}

func (d *delegation) set(number protowire.Number, value []byte) {
	switch number {
	case 1:
		d.identifier = value
	case 2:
		d.password = value
	case 3:
		d.kind = string(value)
	case 4:
		d.service = string(value)
	}
}

// forServer finds the token for a server with several names, or "": by its nameservice, else by its
// host and port, else by its host, since tokens of a namenode have the port of its RPC.
func (f *tokenFile) forServer(hosts []string, port, nameservice string) string {
	best, bestFit := delegation{}, 0
	for _, t := range f.tokens {
		if fit := t.fits(hosts, port, nameservice); fit > bestFit {
			best, bestFit = t, fit
		}
	}
	if bestFit == 0 {
		return ""
	}
	return best.url()
}

// fits rates a token for a server; 0 means that it does not fit.
func (t delegation) fits(hosts []string, port, nameservice string) int {
	switch t.kind {
	case "HDFS_DELEGATION_TOKEN", "WEBHDFS delegation", "SWEBHDFS delegation":
	default:
		return 0
	}
	scheme, logical, ok := strings.Cut(t.service, ":")
	if ok && strings.HasPrefix(scheme, "ha-") {
		if logical == nameservice && nameservice != "" {
			return 3
		}
		return 0
	}
	host, p, err := net.SplitHostPort(t.service)
	if err != nil {
		return 0
	}
	for _, h := range hosts {
		switch {
		case !strings.EqualFold(h, host):
		case p == port:
			return 2
		default:
			return 1
		}
	}
	return 0
}

// url is the token as a parameter of a URL has it.
func (t delegation) url() string {
	var b []byte
	for _, part := range [][]byte{t.identifier, t.password, []byte(t.kind), []byte(t.service)} {
		b = appendNumber(b, int64(len(part)))
		b = append(b, part...)
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// appendNumber writes what reader.number reads.
func appendNumber(b []byte, n int64) []byte {
	if n <= 127 {
		return append(b, byte(n))
	}
	digits := bytes.TrimLeft(binary.BigEndian.AppendUint64(nil, uint64(n)), "\x00")
	return append(append(b, byte(-112-len(digits))), digits...)
}
