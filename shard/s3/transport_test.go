package s3

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"sync"
	"testing"
)

// A redirect to another port of the same host shows no credentials there; one to the same server
// does.
func TestRedirectSecrets(t *testing.T) {
	for _, c := range []struct {
		name  string
		other bool // another port
	}{{"same server", false}, {"another port", true}} {
		t.Run(c.name, func(t *testing.T) {
			var mu sync.Mutex
			var got []http.Header // of the requests that were redirected
			take := func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				got = append(got, r.Header.Clone())
				w.WriteHeader(http.StatusForbidden)
			}
			target := httptest.NewServer(http.HandlerFunc(take))
			defer target.Close()
			first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/elsewhere" {
					take(w, r)
					return
				}
				if r.Header.Get("Authorization") == "" {
					t.Error("the first request shows no credentials")
				}
				to := "/elsewhere"
				if c.other {
					to = target.URL + to
				}
				http.Redirect(w, r, to, http.StatusTemporaryRedirect)
			}))
			defer first.Close()
			store := newStore(t, Options{EndpointURL: first.URL, Key: "k", Secret: "s", Token: "secret token", Region: "us-east-1"})
			if _, err := store.List(t.Context(), "s3://bucket/d/"); err == nil {
				t.Error("no error")
			}
			if len(got) == 0 {
				t.Fatal("no request was redirected")
			}
			for _, h := range got {
				shown := slices.ContainsFunc([]string{"Authorization", "X-Amz-Security-Token"}, func(name string) bool { return h.Get(name) != "" })
				if shown == c.other {
					t.Errorf("credentials were shown: %v; %v", shown, h)
				}
			}
		})
	}
}

func TestSameOrigin(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"http://h/a", "http://h/b?c", true},
		{"http://h", "http://H:80", true},
		{"https://h", "https://h:443", true},
		{"http://h:9000", "http://h:9000/x", true},
		{"http://h:9000", "http://h:9001", false},
		{"http://h", "https://h", false},
		{"http://h:443", "https://h", false},
		{"http://h", "http://h:443", false},
		{"http://h", "http://a.h", false},
	} {
		t.Run(c.a+" "+c.b, func(t *testing.T) {
			a, errA := url.Parse(c.a)
			b, errB := url.Parse(c.b)
			if errA != nil || errB != nil || sameOrigin(a, b) != c.want || sameOrigin(b, a) != c.want {
				t.Errorf("want %v", c.want)
			}
		})
	}
}
