package azure

import (
	"strings"
	"testing"
)

func FuzzReadPage(f *testing.F) {
	f.Add([]byte(`<EnumerationResults><Blobs><Blob><Name Encoded="true">a%20b</Name><Properties><Content-Length>1</Content-Length><Etag>0x1</Etag></Properties><Metadata><hdi_isfolder>true</hdi_isfolder></Metadata></Blob><BlobPrefix><Name>d/</Name></BlobPrefix></Blobs><NextMarker>m</NextMarker></EnumerationResults>`))
	f.Add([]byte(`<html>`))
	f.Fuzz(func(t *testing.T, body []byte) {
		p, err := (&service{}).ReadPage(body)
		if err != nil {
			return
		}
		for _, e := range p.Files {
			if !strings.HasPrefix(e.Version, `"`) {
				t.Errorf("%+v", e)
			}
		}
	})
}
