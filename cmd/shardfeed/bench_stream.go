package main

import (
	"context"
	"iter"

	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
)

// A benched is the stream that bench measures, wherever its batches are.
type benched interface {
	Len() int64

	// each takes batch after batch, touches it and releases it, until do returns false.
	each(ctx context.Context, do func(valid int, epoch uint64) (more bool)) error

	// result is the counts after the last batch.
	result(m *measurement)

	Close() error
}

// stream is the data set's batches, whose images a decoder decodes.
func (a *app) stream(ds *iterable.Dataset, f *flags, decoder imageDecoder) (benched, error) {
	o := f.loader()
	o.ImageDecoder = decoder.make
	if f.device != "" {
		return a.openDeviceStream(ds, f, o)
	}
	l, err := loader.New(ds, o)
	if err != nil {
		return nil, err
	}
	return &hostStream{Loader: l}, nil
}

// A hostStream is a loader's batches, as any training on the host gets them.
type hostStream struct {
	*loader.Loader
	touched toucher
}

func (s *hostStream) each(ctx context.Context, do func(valid int, epoch uint64) (more bool)) error {
	return eachOf(s.Batches(ctx), func(b *loader.Batch) bool {
		s.touched.touch(b.Columns)
		valid, epoch := b.Valid, b.State.Epoch
		b.Release()
		return do(valid, epoch)
	})
}

// eachOf takes batches until do returns false.
func eachOf[B any](batches iter.Seq2[B, error], do func(B) (more bool)) error {
	for b, err := range batches {
		if err != nil || !do(b) {
			return err
		}
	}
	return nil
}

func (s *hostStream) result(m *measurement) {
	m.DecodedBytes = s.touched.bytes
	m.addStats(s.Stats())
}
