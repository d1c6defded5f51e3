package shard

import (
	"errors"
	"strings"
	"testing"
)

func TestSplitScheme(t *testing.T) {
	for _, c := range []struct{ address, scheme, rest string }{
		{"", "", ""},
		{"a/b", "", "a/b"},
		{"/a/b", "", "/a/b"},
		{"~/b", "", "~/b"},
		{"a:b", "", "a:b"},
		{"a:/b", "", "a:/b"},
		{"dt=1://x", "", "dt=1://x"},
		{"1a://x", "", "1a://x"},
		{"://x", "", "://x"},
		{"dir/s3://x", "", "dir/s3://x"},
		{"s3://b/k", "s3", "b/k"},
		{"S3A://b/k", "s3a", "b/k"},
		{"a+b-c.1://x", "a+b-c.1", "x"},
		{"file:///a", "file", "/a"},
		{"file:/a", "file", "/a"},
		{"file:a", "", "file:a"},
		{"file://a", "file", "a"},
		{"mem://", "mem", ""},
	} {
		t.Run(c.address, func(t *testing.T) {
			if scheme, rest := SplitScheme(c.address); scheme != c.scheme || rest != c.rest {
				t.Errorf("%q, %q, want %q, %q", scheme, rest, c.scheme, c.rest)
			}
		})
	}
}

func TestNormal(t *testing.T) {
	for _, c := range []struct{ uri, want string }{
		{"", ""},
		{"a", "a"},
		{"./a//b/../c", "a/c"},
		{"/a/./b", "/a/b"},
		{"../a", "../a"},
		{"file:///a//b", "/a/b"},
		{"file://localhost/a", "/a"},
		{"S3://b//k/./x", "s3://b//k/./x"},
	} {
		t.Run(c.uri, func(t *testing.T) {
			if got := normal(c.uri); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestRedact(t *testing.T) {
	for _, c := range []struct{ uri, want string }{
		{"/a:b@c?token=1", "/a:b@c?token=1"},
		{"file:///a:b@c?token=1", "file:///a:b@c?token=1"},
		{"s3://bucket/key", "s3://bucket/key"},
		{"s3://bucket/a@b:c", "s3://bucket/a@b:c"},
		{"s3://host:9000/a@b", "s3://host:9000/a@b"},
		{"s3://AKIA:hush@bucket/key", "s3://AKIA:***@bucket/key"},
		{"s3://AKIA:hush/with/slashes@bucket/key", "s3://AKIA:***@bucket/key"},
		{"s3://AKIA:hu@sh@bucket/key", "s3://AKIA:***@bucket/key"},
		{"hdfs://user@name/key", "hdfs://user@name/key"},
		{"https://h/k?X-Amz-Signature=hush&x=1", "https://h/k?X-Amz-Signature=***&x=1"},
		{"https://h/k?x=1&sig=hush", "https://h/k?x=1&sig=***"},
		{"https://h/k?design=1&sig", "https://h/k?design=1&sig"},
		{"webhdfs://n/k?delegation=hush", "webhdfs://n/k?delegation=***"},
	} {
		t.Run(c.uri, func(t *testing.T) {
			if got := Redact(c.uri); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestErrorHidesSecrets(t *testing.T) {
	err := &Error{Op: "open", URI: "s3://AKIA:hush@b/k", Err: ErrDenied, Hint: "ask for access"}
	if got, want := err.Error(), "s3://AKIA:***@b/k: open: access denied (ask for access)"; got != want {
		t.Fatalf("got %q, want %q", got, want)
	}
	if !errors.Is(err, ErrDenied) {
		t.Fatal("the cause is lost")
	}
}

func FuzzRedact(f *testing.F) {
	f.Add("s3://AKIA:", "hush/with@signs", "@bucket/key?a=b")
	f.Add("https://host/key?token=", "hush", "&x=1")
	f.Fuzz(func(t *testing.T, before, secret, after string) {
		_ = Redact(before + secret + after)
		secret = "<" + strings.Map(func(r rune) rune {
			if strings.ContainsRune("?@:/#", r) {
				return -1
			}
			return r
		}, secret) + ">"
		if got := Redact("s3://user:" + secret + "@bucket/" + after); strings.HasPrefix(got, "s3://user:"+secret) {
			t.Fatalf("%q shows the password", got)
		}
	})
}
