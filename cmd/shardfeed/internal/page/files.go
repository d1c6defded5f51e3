package page

import (
	"embed"
	"net/http"
)

//go:embed files
var files embed.FS

// file serves an embedded file.
func file(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.ServeFileFS(w, r, files, "files/"+name) }
}
