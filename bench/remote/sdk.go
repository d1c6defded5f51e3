package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// newClient makes a client of the SDK that keeps its connections until done is called, and checks
// nothing.
func newClient(ctx context.Context) (c *s3.Client, done func(), err error) {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 1024, 512
	t.ReadBufferSize = 64 << 10
	t.DisableCompression = true
	cfg, err := config.LoadDefaultConfig(ctx, config.WithHTTPClient(&http.Client{Transport: t}))
	if err != nil {
		return nil, nil, err
	}
	return s3.NewFromConfig(cfg, func(o *s3.Options) {
		o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
		o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
		o.DisableLogOutputChecksumValidationSkipped = true
		o.UsePathStyle = os.Getenv("AWS_ENDPOINT_URL") != ""
	}), t.CloseIdleConnections, nil
}

// An sdk is the loop that reading from S3 cannot do without: GetObject with a range, and its body
// read into the worker's memory.
type sdk struct {
	client *s3.Client
	done   func()
}

func newSDK(ctx context.Context) (*sdk, error) {
	c, done, err := newClient(ctx)
	if err != nil {
		return nil, err
	}
	return &sdk{c, done}, nil
}

// Close closes the connections.
func (s *sdk) Close() error {
	s.done()
	return nil
}

func (s *sdk) reader(context.Context) (reader, error) { return s.read, nil }

func (s *sdk) read(ctx context.Context, uri string, b []byte, off int64) error {
	bucket, key, ok := strings.Cut(strings.TrimPrefix(uri, "s3://"), "/")
	if !ok {
		return fmt.Errorf("%s names no object", uri)
	}
	span := fmt.Sprintf("bytes=%d-%d", off, off+int64(len(b))-1)
	r, err := s.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &bucket, Key: &key, Range: &span})
	if err != nil {
		return err
	}
	defer r.Body.Close()
	_, err = io.ReadFull(r.Body, b)
	return err
}
