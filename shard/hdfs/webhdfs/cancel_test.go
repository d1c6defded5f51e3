package webhdfs

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/shard"
)

// A request that its caller cancels with a cause is context.Canceled, and says the cause.
func TestCancelCause(t *testing.T) {
	asked, end := make(chan struct{}, 8), make(chan struct{})
	hung := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		<-end
	}))
	defer hung.Close()
	defer close(end)
	uri := "webhdfs://" + strings.TrimPrefix(hung.URL, "http://") + "/f"
	s := newStore(t, Options{User: "alice"})
	o, err := s.Open(t.Context(), shard.Shard{URI: uri, Size: 10, Version: "1-7"})
	if err != nil {
		t.Fatal(err)
	}
	for name, call := range map[string]func(ctx context.Context) error{
		"list": func(ctx context.Context) error {
			_, err := s.List(ctx, uri)
			return err
		},
		"read": func(ctx context.Context) error { return o.ReadAt(ctx, make([]byte, 10), 0) },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- call(ctx) }()
			<-asked
			cause := errors.New("enough")
			cancel(cause)
			if err := <-ended; !errors.Is(err, context.Canceled) || !errors.Is(err, cause) {
				t.Errorf("error %v", err)
			}
		})
	}
}
