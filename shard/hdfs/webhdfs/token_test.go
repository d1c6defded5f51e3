package webhdfs

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// tokenStorage is the content of a file of YARN with the token of a URL, as that of a namenode at
// an address.
func tokenStorage(t testing.TB, urlString, service string) []byte {
	t.Helper()
	raw, err := base64.RawURLEncoding.DecodeString(urlString)
	if err != nil {
		t.Fatal(err)
	}
	r := reader{rest: raw}
	d := delegation{identifier: r.bytes(), password: r.bytes(), kind: "HDFS_DELEGATION_TOKEN", service: service}
	if r.bad {
		t.Fatal("the token cannot be read")
	}
	return writable(d)
}

// writable writes the older format.
func writable(tokens ...delegation) []byte {
	b := appendNumber([]byte("HDTS\x00"), int64(len(tokens)))
	for _, d := range tokens {
		for _, part := range []string{"alias of " + d.service, string(d.identifier), string(d.password), d.kind, d.service} {
			b = append(appendNumber(b, int64(len(part))), part...)
		}
	}
	return append(b, 1, 1, 's', 6, 's', 'e', 'c', 'r', 'e', 't')
}

// protobuf writes the newer format.
func protobuf(tokens ...delegation) []byte {
	field := func(b []byte, number protowire.Number, value []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(b, number, protowire.BytesType), value)
	}
	var all []byte
	for _, d := range tokens {
		var token []byte
		for i, part := range [][]byte{d.identifier, d.password, []byte(d.kind), []byte(d.service)} {
			token = field(token, protowire.Number(i+1), part)
		}
		pair := field(field(nil, 1, []byte("alias")), 2, token)
		all = field(all, 1, pair)
	}
	all = field(all, 2, []byte{})
	all = protowire.AppendVarint(protowire.AppendTag(all, 9, protowire.VarintType), 7) // from the future
	return append([]byte("HDTS\x01"), protowire.AppendBytes(nil, all)...)
}

func TestTokens(t *testing.T) {
	token := func(kind, service string) delegation {
		return delegation{bytes.Repeat([]byte{1}, 200), []byte("password"), kind, service}
	}
	all := []delegation{
		token("YARN_AM_RM_TOKEN", "nn:9870"),
		token("HDFS_DELEGATION_TOKEN", "nn:8020"),
		token("WEBHDFS delegation", "nn:9870"),
		token("HDFS_DELEGATION_TOKEN", "ha-hdfs:east"),
		token("HDFS_DELEGATION_TOKEN", "127.0.0.1:8020"),
		token("HDFS_DELEGATION_TOKEN", "odd"),
	}
	for _, format := range []func(...delegation) []byte{writable, protobuf} {
		f, err := parseTokens(format(all...))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			host, port, nameservice string
			want                    int // index, or -1
		}{
			{"nn", "9870", "", 2},
			{"NN", "1", "", 1},
			{"e1", "9870", "east", 3},
			{"e1", "9870", "west", -1},
			{"e1", "9870", "", -1},
			{"127.0.0.1", "9870", "", 4},
			{"other", "9870", "", -1},
		} {
			want := ""
			if c.want >= 0 {
				want = all[c.want].url()
			}
			if got := f.forServer([]string{c.host}, c.port, c.nameservice); got != want {
				t.Errorf("%+v: %s", c, got)
			}
		}
	}
}

func TestTokensDamaged(t *testing.T) {
	good := delegation{[]byte("identifier"), []byte("password"), "kind", "service"}
	for _, b := range [][]byte{nil, []byte("HDTS"), []byte("HDTS\x02"), []byte("PK\x03\x04"), []byte("HDTS\x00\xff"), []byte("HDTS\x00\x87"), []byte("HDTS\x00\x8e\x7f\xff")} {
		if _, err := parseTokens(b); err == nil {
			t.Errorf("%q is taken", b)
		}
	}
	for _, whole := range [][]byte{bytes.TrimSuffix(writable(good), []byte("\x01\x01s\x06secret")), protobuf(good)} {
		for n := range len(whole) {
			if _, err := parseTokens(whole[:n]); err == nil {
				t.Errorf("%d bytes of %d are taken", n, len(whole))
			} else if strings.Contains(err.Error(), "password") {
				t.Error(err)
			}
		}
	}
}

func FuzzTokens(f *testing.F) {
	d := delegation{[]byte("identifier"), bytes.Repeat([]byte("p"), 300), "HDFS_DELEGATION_TOKEN", "nn:1"}
	f.Add(writable(d, d))
	f.Add(protobuf(d, d))
	f.Fuzz(func(t *testing.T, b []byte) {
		found, err := parseTokens(b)
		if err != nil {
			return
		}
		for _, d := range found.tokens {
			raw, err := base64.RawURLEncoding.DecodeString(d.url())
			if err != nil {
				t.Fatal(err)
			}
			r := reader{rest: raw}
			again := delegation{r.bytes(), r.bytes(), string(r.bytes()), string(r.bytes())}
			if r.bad || len(r.rest) > 0 || !bytes.Equal(again.identifier, d.identifier) || !bytes.Equal(again.password, d.password) ||
				again.kind != d.kind || again.service != d.service {
				t.Fatalf("%+v became %+v", d, again)
			}
		}
	})
}
