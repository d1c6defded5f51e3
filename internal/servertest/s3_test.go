package servertest

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// fetch reads an object, or says with what status it could not.
func fetch(t *testing.T, s *S3Server, bucket, key string) (content []byte, status int) {
	t.Helper()
	req, err := s.request(http.MethodGet, bucket, key, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	content, err = io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return content, resp.StatusCode
}

// roundTrip puts, reads, replaces and removes objects under awkward names.
func roundTrip(t *testing.T, s *S3Server) {
	bucket := s.Bucket(t)
	for _, key := range []string{"a", "table/dt=2026-01-01/part 1+%2B&é.parquet", "empty"} {
		want := []byte(strings.Repeat(key, 1000))
		if key == "empty" {
			want = nil
		}
		s.Put(t, bucket, key, []byte("older"))
		s.Put(t, bucket, key, want)
		if got, status := fetch(t, s, bucket, key); status != http.StatusOK || !bytes.Equal(got, want) {
			t.Errorf("%q: status %d and %d bytes, want %d bytes", key, status, len(got), len(want))
		}
		s.Remove(t, bucket, key)
		if _, status := fetch(t, s, bucket, key); status != http.StatusNotFound {
			t.Errorf("%q: status %d after it was removed", key, status)
		}
	}
	wrong := *s
	wrong.Secret = "wrong"
	if _, status := fetch(t, &wrong, bucket, "a"); status != http.StatusForbidden {
		t.Errorf("status %d with a wrong secret", status)
	}
}

func TestServerS3(t *testing.T) { roundTrip(t, S3(t)) }

func TestServerS3TLS(t *testing.T) {
	s := S3With(t, S3Options{TLS: true})
	roundTrip(t, s)
	if _, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get(s.Endpoint); err == nil {
		t.Error("a client that does not know the authority was answered")
	}
}

func TestServerMinIO(t *testing.T) { roundTrip(t, MinIO(t)) }

// TestServerS3Own: a server of a test's own is gone when the test ends, and its files with it.
func TestServerS3Own(t *testing.T) {
	Need(t, "versitygw") // where it is absent, all of this test is skipped and not the part within alone
	var s *S3Server
	t.Run("within", func(t *testing.T) {
		s = S3With(t, S3Options{Own: true})
		if S3(t) == s {
			t.Error("an own server is the shared one")
		}
		s.Put(t, s.Bucket(t), "a", []byte("a"))
	})
	if err := s.answers(); err == nil {
		t.Error("the server answers after its test")
	}
	if _, err := os.Stat(s.proc.root); err == nil {
		t.Errorf("%s is left behind", s.proc.root)
	}
}

// TestServerEnds: a server that cannot start is an error with its reason, at once.
func TestServerEnds(t *testing.T) {
	Need(t, "versitygw")
	start := time.Now()
	_, err := startS3("broken", false, func(*S3Server, string, string) (args, env []string) {
		return []string{"sh", "-c", "echo no such backend; exit 3"}, nil
	})
	if err == nil || !strings.Contains(err.Error(), "code 3: no such backend") {
		t.Errorf("error %v", err)
	}
	if took := time.Since(start); took > ReadyWithin/2 {
		t.Errorf("it took %v", took)
	}
}
