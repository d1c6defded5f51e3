package s3

import (
	"errors"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/shard"
)

func TestParse(t *testing.T) {
	for _, c := range []struct{ uri, bucket, key, version string }{
		{"s3://b", "b", "", ""},
		{"s3://b/", "b", "", ""},
		{"S3A://b/k", "b", "k", ""},
		{"s3n://b/k/l", "b", "k/l", ""},
		{"s3://b//k//l/", "b", "/k//l/", ""},
		{"s3://b/a b%20c+d#e?f", "b", "a b%20c+d#e?f", ""},
		{"s3://b/k?versionId=v1", "b", "k", "v1"},
		{"s3://b/k?versionId=v1?versionId=v2", "b", "k?versionId=v1", "v2"},
		{"s3://b/k?versionId=a/b", "b", "k?versionId=a/b", ""},
		{"s3://my.bucket-1_X/../k", "my.bucket-1_X", "../k", ""},
		{"s3://b--use1-az4--x-s3/k", "b--use1-az4--x-s3", "k", ""},
		{"s3://arn:aws:s3:us-east-1:123456789012:accesspoint/name/k/l", "arn:aws:s3:us-east-1:123456789012:accesspoint/name", "k/l", ""},
		{"s3://arn:aws:s3:us-east-1:123456789012:accesspoint:name/k", "arn:aws:s3:us-east-1:123456789012:accesspoint:name", "k", ""},
	} {
		t.Run(c.uri, func(t *testing.T) {
			l, err := parse(c.uri)
			if err != nil || l != (location{c.bucket, c.key, c.version}) {
				t.Errorf("%+v, %v", l, err)
			}
		})
	}
	for _, c := range []struct{ uri, want string }{
		{"b/k", "not an s3:// address"},
		{"gs://b/k", "not an s3:// address"},
		{"s3://", "it has no bucket"},
		{"s3:///k", "it has no bucket"},
		{"s3://AKIA:hush@b/k", "cannot hold credentials"},
		{"s3://host:9000/b/k", `"host:9000" cannot be a bucket's name`},
		{"s3://../k", "cannot be a bucket's name"},
		{"s3://a b/k", "cannot be a bucket's name"},
		{"s3://" + strings.Repeat("b", 256), "cannot be a bucket's name"},
		{"s3://arn:aws/k", "cannot be a bucket's name"},
		{"s3://b/d/?versionId=v", "a directory has no version"},
	} {
		t.Run(c.uri, func(t *testing.T) {
			if _, err := parse(c.uri); !errors.Is(err, shard.ErrBadURI) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hush") {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestIdentity(t *testing.T) {
	s := New(Options{})
	for _, c := range []struct{ uri, want string }{
		{"s3a://b/k", "s3://b/k"},
		{"S3N://b/k//l", "s3://b/k//l"},
		{"s3://b", "s3://b/"},
		{"s3a://b/k?versionId=v", "s3://b/k?versionId=v"},
		{"s3://", "s3://"},
	} {
		t.Run(c.uri, func(t *testing.T) {
			if got := s.Identity(c.uri); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"s3://b/k", "s3a://b//k?versionId=x", "s3://arn:aws:s3:r:1:accesspoint/n/k", "s3://a:b@c/d", "s3://b/{a,b}*"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		l, err := parse(uri)
		if err != nil {
			if !errors.Is(err, shard.ErrBadURI) {
				t.Fatal(err)
			}
			return
		}
		again, err := parse(l.identity())
		if err != nil || again != l {
			t.Fatalf("%q is %+v, its identity %q is %+v, %v", uri, l, l.identity(), again, err)
		}
	})
}
