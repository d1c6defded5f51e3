package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"

	"github.com/colinmarc/hdfs/v2"
)

// A library reads from HDFS with only its Go client: nothing is verified beyond what the client
// verifies, and there are no deadlines. Like our store it has one client for each range in flight,
// opens a reader for each range and seeks once.
type library struct {
	namenode string
	clients  []*hdfs.Client
}

func newLibrary(pieces []piece) (*library, error) {
	u, err := url.Parse(pieces[0].uri)
	if err != nil {
		return nil, err
	}
	if u.Scheme != "hdfs" || u.Host == "" {
		return nil, fmt.Errorf("%s names no namenode", pieces[0].uri)
	}
	return &library{namenode: u.Host}, nil
}

func (l *library) Close() error {
	var errs []error
	for _, c := range l.clients {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

func (l *library) reader(context.Context) (reader, error) {
	user := os.Getenv("HADOOP_USER_NAME")
	if user == "" {
		user = "bench"
	}
	c, err := hdfs.NewClient(hdfs.ClientOptions{Addresses: []string{l.namenode}, User: user})
	if err != nil {
		return nil, err
	}
	l.clients = append(l.clients, c)
	return func(_ context.Context, uri string, b []byte, off int64) error { return readOnce(c, uri, b, off) }, nil
}

// readOnce reads one range with a reader of its own.
func readOnce(c *hdfs.Client, uri string, b []byte, off int64) error {
	u, err := url.Parse(uri)
	if err != nil {
		return err
	}
	f, err := c.Open(u.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Seek(off, io.SeekStart); err != nil {
		return err
	}
	_, err = io.ReadFull(f, b)
	return err
}
