package s3

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

func TestVersion(t *testing.T) {
	at := time.Unix(1_700_000_000, 123)
	for _, c := range []struct {
		tag           *string
		at            *time.Time
		version, back string
	}{
		{aws.String(`"abc"`), &at, "abc", `"abc"`},
		{aws.String(`abc-12`), nil, "abc-12", `"abc-12"`},
		{aws.String(`W/"abc"`), nil, `W/"abc`, `W/"abc"`},
		{nil, &at, "time:1700000000", ""},
		{aws.String(`""`), &at, "time:1700000000", ""},
		{nil, nil, "time:unknown", ""},
	} {
		v := version(c.tag, c.at)
		if v != c.version || entityTag(v) != c.back {
			t.Errorf("%v: version %s, sent as %s", aws.ToString(c.tag), v, entityTag(v))
		}
	}
	if entityTag("") != "" {
		t.Error("a shard without a version is asked for by one")
	}
}

func TestContentRange(t *testing.T) {
	for _, c := range []struct {
		text         string
		first, total int64
		ok           bool
	}{
		{"bytes 0-99/1234", 0, 1234, true},
		{"bytes 5-9/*", 5, -1, true},
		{"bytes 9223372036854775807-9223372036854775807/9223372036854775807", 1<<63 - 1, 1<<63 - 1, true},
		{"", 0, 0, false},
		{"bytes */1234", 0, 0, false},
		{"bytes 0-99", 0, 0, false},
		{"bytes -5-99/10", 0, 0, false},
		{"bytes 0-99/-1", 0, 0, false},
		{"0-99/100", 0, 0, false},
		{"bytes 0/100", 0, 0, false},
	} {
		t.Run(c.text, func(t *testing.T) {
			first, _, total, err := contentRange(c.text)
			if (err == nil) != c.ok || err == nil && (first != c.first || total != c.total) {
				t.Errorf("%d, %d, %v", first, total, err)
			}
		})
	}
}

func FuzzContentRange(f *testing.F) {
	f.Add("bytes 0-99/1234")
	f.Add("bytes 0-99/*")
	f.Fuzz(func(t *testing.T, text string) {
		if first, _, total, err := contentRange(text); err == nil && (first < 0 || total < -1) {
			t.Fatalf("%q: %d, %d", text, first, total)
		}
	})
}
