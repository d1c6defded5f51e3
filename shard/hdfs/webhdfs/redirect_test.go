package webhdfs

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/shardfeed/shardfeed/shard"
)

// A redirect to a datanode on another port of the same host brings the token that the namenode put
// into it, and neither the password nor the cookies that the namenode sees. A redirect to the
// namenode itself, as gateways make them, brings both.
func TestRedirectSecrets(t *testing.T) {
	body := []byte("0123456789")
	for _, c := range []struct {
		name   string
		itself bool
	}{{"datanode on another port", false}, {"the same server", true}} {
		t.Run(c.name, func(t *testing.T) {
			var mu sync.Mutex
			var shown http.Header
			var query url.Values
			take := func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				shown, query = r.Header.Clone(), r.URL.Query()
				mu.Unlock()
				_, _ = w.Write(body)
			}
			datanode := httptest.NewServer(http.HandlerFunc(take))
			defer datanode.Close()
			namenode := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				http.SetCookie(w, &http.Cookie{Name: "hadoop.auth", Value: "secret"})
				switch {
				case r.URL.Path == "/data":
					take(w, r)
				case r.URL.Query().Get("op") == "GETFILESTATUS":
					_, _ = w.Write([]byte(`{"FileStatus":{"type":"FILE","length":10,"modificationTime":1,"fileId":7}}`))
				case r.URL.Query().Get("op") == "GET_BLOCK_LOCATIONS":
					_, _ = w.Write([]byte(`{"LocatedBlocks":{}}`))
				case c.itself:
					http.Redirect(w, r, "/data?delegation=block-token", http.StatusTemporaryRedirect)
				default:
					http.Redirect(w, r, datanode.URL+"/data?delegation=block-token", http.StatusTemporaryRedirect)
				}
			}))
			defer namenode.Close()
			s := newStore(t, Options{User: "alice", Password: "wonder"})
			uri := "webhdfs://" + strings.TrimPrefix(namenode.URL, "http://") + "/f"
			o, err := s.Open(t.Context(), shard.Shard{URI: uri, Size: 10, Version: "1-7"})
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // the second time, there are cookies
				p := make([]byte, 10)
				if err := o.ReadAt(t.Context(), p, 0); err != nil || !bytes.Equal(p, body) {
					t.Fatalf("%s, %v", p, err)
				}
				if query.Get("delegation") != "block-token" {
					t.Errorf("query %v", query)
				}
			}
			if secrets := shown.Get("Authorization") != "" && shown.Get("Cookie") != ""; secrets != c.itself {
				t.Errorf("header %v", shown)
			}
			if !c.itself && (shown.Get("Authorization") != "" || shown.Get("Cookie") != "") {
				t.Errorf("header %v", shown)
			}
		})
	}
}
