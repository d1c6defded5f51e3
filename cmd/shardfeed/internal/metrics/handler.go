package metrics

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/shardfeed/shardfeed/internal/engine"
)

// A collector makes the metrics of a snapshot.
type collector struct {
	snapshot func() engine.Snapshot
	metrics  []metric
	descs    []*prometheus.Desc // of metrics
}

func newCollector(snapshot func() engine.Snapshot) *collector {
	c := &collector{snapshot: snapshot, metrics: table()}
	for _, m := range c.metrics {
		c.descs = append(c.descs, prometheus.NewDesc(m.name, m.help, m.labels, nil))
	}
	return c
}

// Describe sends all descriptions.
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		to <- d
	}
}

// Collect sends the values of a snapshot.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	s := c.snapshot()
	for i, m := range c.metrics {
		m.values(s, func(value float64, labels ...string) {
			to <- prometheus.MustNewConstMetric(c.descs[i], m.kind, value, labels...)
		})
	}
}

// registry returns the metrics of an engine, of its process and of Go's runtime.
func registry(snapshot func() engine.Snapshot) *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(newCollector(snapshot), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

// path is where Prometheus asks.
const path = "/metrics"

// scrapes is how many scrapes are answered at a time.
const scrapes = 4

// handler answers scrapes.
func handler(snapshot func() engine.Snapshot) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET "+path, promhttp.HandlerFor(registry(snapshot), promhttp.HandlerOpts{EnableOpenMetrics: true, MaxRequestsInFlight: scrapes}))
	return mux
}
