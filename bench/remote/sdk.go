package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// newClient makes a client of the SDK that keeps its connections and checks nothing.
func newClient(ctx context.Context) (*s3.Client, error) {
	h := awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.MaxIdleConns, t.MaxIdleConnsPerHost = 1024, 512
		t.ReadBufferSize = 64 << 10
		t.DisableCompression = true
	})
	c, err := config.LoadDefaultConfig(ctx, config.WithHTTPClient(h))
	if err != nil {
		return nil, err
	}
	return s3.NewFromConfig(c, func(o *s3.Options) {
		o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
		o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
		o.DisableLogOutputChecksumValidationSkipped = true
		o.UsePathStyle = os.Getenv("AWS_ENDPOINT_URL") != ""
	}), nil
}

// An sdk is the loop that reading from S3 cannot do without: GetObject with a range, and its body read into the worker's memory.
type sdk struct{ client *s3.Client }

func newSDK(ctx context.Context) (*sdk, error) {
	c, err := newClient(ctx)
	if err != nil {
		return nil, err
	}
	return &sdk{c}, nil
}

func (s *sdk) Close() error { return nil }

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
