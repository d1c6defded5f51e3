package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/process"

	"github.com/shardfeed/shardfeed/internal/regular"

	"github.com/spf13/cobra"

	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/metrics"
	"github.com/shardfeed/shardfeed/internal/engine"
	"github.com/shardfeed/shardfeed/internal/engine/wire"
	"github.com/shardfeed/shardfeed/internal/mem"
)

const (
	logVariable     = "SHARDFEED_LOG"
	metricsVariable = "SHARDFEED_METRICS"
	defaultGrace    = 10 * time.Second
	sharedJob       = "shared" // the default name of an engine
)

// logLevels by their names.
var logLevels = map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warning": slog.LevelWarn, "error": slog.LevelError}

type serveCommand struct {
	socket  string
	job     string
	grace   time.Duration
	log     string
	level   string
	readyFD int
	check   string
	metrics string // an address
}

func (a *app) serve() *cobra.Command {
	s := &serveCommand{}
	c := &cobra.Command{
		Use:   "serve [flags]",
		Short: "Serve batches to Python on this machine, through shared memory",
		Long: `serve is the engine behind the Python package, which starts one for each job and node and ends it
with the job. Started by hand it serves several jobs: set SHARDFEED_SOCKET to its socket in their
environment. It ends when its last client has been gone for the grace period.

With --check it serves nothing: it asks the engine at that socket whether it answers, and exits
with 0 if it does. Probes of Kubernetes use it.`,
		Example: `  shardfeed serve --grace 0
  shardfeed serve --socket /run/user/1000/shardfeed/mine.sock --log-level debug
  shardfeed serve --check /run/user/1000/shardfeed/mine.sock`,
		Args: cobra.NoArgs,
	}
	fs := c.Flags()
	fs.StringVar(&s.socket, "socket", "", "`path` of the socket (default: JOB.sock in SHARDFEED_RUNTIME_DIR, XDG_RUNTIME_DIR/shardfeed or /tmp/shardfeed-UID)")
	fs.StringVar(&s.job, "job", sharedJob, "`name` of the socket, where no path is given")
	fs.DurationVar(&s.grace, "grace", defaultGrace, "end after so long without a connection; 0 stays until it is stopped")
	fs.StringVar(&s.log, "log", "", "`file` that the log is added to (default: stderr)")
	fs.StringVar(&s.level, "log-level", "", "debug, info, warning or error (default: "+logVariable+", else info)")
	fs.StringVar(&s.metrics, "metrics", "", "serve metrics to Prometheus at this `address`, as in 127.0.0.1:9464; without a host on this machine only; port 0 is any free one (default: "+metricsVariable+", else none)")
	fs.IntVar(&s.readyFD, "ready-fd", -1, "tell through this open file `descriptor`, by a line of JSON, that the socket can be used")
	fs.StringVar(&s.check, "check", "", "only ask whether an engine answers at this `socket`, for up to 5 s")
	return a.runs(c, func(ctx context.Context, _ []string) error {
		if fs.Changed("check") {
			return a.checkEngine(ctx, s.check, fs)
		}
		return a.runServe(ctx, s)
	})
}

// jobName matches valid names of jobs, which are names of files.
var jobName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

func (a *app) runServe(ctx context.Context, s *serveCommand) (err error) {
	logger, closeLog, err := s.logger(a.stderr)
	if err != nil {
		return err
	}
	defer closeLog()
	if err := process.WakeGently(); err != nil {
		logger.Debug("its threads interrupt trainers when they wake", "error", err)
	}
	path, err := s.path()
	if err != nil {
		return err
	}
	address, err := s.metricsAddress()
	if err != nil {
		return err
	}
	l, err := engine.Listen(path)
	if err != nil {
		return err
	}
	h := newHost(logger)
	h.metrics = metrics.New(address, logger)
	server := engine.New(engine.Options{
		Open: h.open, Caches: h.cacheWork, Metrics: h.metrics.URL, Logger: logger, Budget: (*mem.Budget)(h.Budget()), Grace: cmp.Or(s.grace, -1), Build: version(), Log: s.log,
	})
	logger.Info("serving", "socket", path, "version", version(), "pid", os.Getpid(), "memory", mem.Bytes(h.Budget().Limit()))
	h.metrics.Start(server.Snapshot)
	if err := s.tellReady(path); err != nil {
		logger.Warn("the starter does not wait for the socket", "error", err)
	}
	err = errors.Join(server.Serve(ctx, l), h.metrics.Close())
	h.close(ctx)
	logger.Info("ended", "error", err)
	return err
}

// metricsAddress returns the address at which metrics are served, or "".
func (s *serveCommand) metricsAddress() (string, error) {
	text, where := s.metrics, "--metrics"
	if text == "" {
		text, where = os.Getenv(metricsVariable), metricsVariable
	}
	if text == "" {
		return "", nil
	}
	address, err := metrics.ParseAddress(text)
	if err != nil {
		return "", usagef("%s %v, got %q", where, err, text)
	}
	return address, nil
}

// tellReady reports to the starter that the socket can be used. On failure the descriptor stays
// open: the starter then reads the error that is printed last.
func (s *serveCommand) tellReady(path string) error {
	if s.readyFD < 0 {
		return nil
	}
	ready := os.NewFile(uintptr(s.readyFD), "ready")
	defer ready.Close()
	return json.NewEncoder(ready).Encode(map[string]any{"pid": os.Getpid(), "socket": path})
}

func (s *serveCommand) path() (string, error) {
	if s.socket != "" {
		return s.socket, nil
	}
	if !jobName.MatchString(s.job) {
		return "", usagef("--job %s: must be a file name of letters, digits, '.', '_' and '-'", s.job)
	}
	dir, err := engine.Dir()
	return filepath.Join(dir, s.job+".sock"), err
}

// logger returns a logger to the file, or to stderr, which may be the same file.
func (s *serveCommand) logger(stderr io.Writer) (*slog.Logger, func(), error) {
	name := s.level
	if name == "" {
		name = strings.ToLower(os.Getenv(logVariable))
	}
	level, known := logLevels[name]
	if !known && s.level != "" {
		return nil, nil, usagef("--log-level %s: must be debug, info, warning or error", s.level)
	}
	w, done := stderr, func() {}
	if s.log != "" && !sameFile(stderr, s.log) {
		if err := checkLog(s.log); err != nil {
			return nil, nil, err
		}
		file, err := os.OpenFile(s.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, nil, regular.Error(err)
		}
		w, done = file, func() { _ = file.Close() }
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: wire.RedactAttr})), done, nil
}

// checkLog refuses a file that is not text: lines at its end would make a shard or a model
// unreadable.
func checkLog(name string) error {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return nil // opening it reports the problem
	}
	file, err := os.Open(name)
	if err != nil {
		return regular.Error(err)
	}
	defer func() { _ = file.Close() }()
	head := make([]byte, 512)
	n, _ := io.ReadFull(file, head)
	if head = head[:n]; bytes.IndexByte(head, 0) >= 0 || bytes.HasPrefix(head, []byte("PAR1")) {
		return usagef("--log %s: the file exists and is not a log; choose another", name)
	}
	return nil
}

func sameFile(w io.Writer, name string) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	a, err := file.Stat()
	if err != nil {
		return false
	}
	b, err := os.Stat(name)
	return err == nil && os.SameFile(a, b)
}
