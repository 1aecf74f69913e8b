package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/filgroth/filgroth/service/cuzkv1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"
)

// Config are a server's addresses and limits. All numbers are needed; package config has defaults.
type Config struct {
	GRPC               []string // TCP addresses
	Unix               string   // path of a socket, empty is none
	HTTP               string   // address of status page, /metrics and /healthz, empty is none
	MaxConnections     int      // of each address
	MaxRequest         int      // bytes of a message
	MaxUploads         int
	UploadTimeout      time.Duration
	CancelOnDisconnect bool
	Drain              time.Duration // that running jobs get in the end
	MemoryEvery        time.Duration
	MemoryHigh         int // per cent
	Credentials        *Credentials
	// Devices tells of devices by the name of their backends; nil is none.
	Devices func() map[string]Device
	Logger  *slog.Logger
}

// Server is a queue behind its addresses.
type Server struct {
	cfg     Config
	queue   *Queue
	calls   *calls
	tcp     *grpc.Server // TLS and tokens
	local   *grpc.Server // unix socket: whoever may open it is trusted
	http    *http.Server
	health  *health.Server
	serving []serving
	addrs   []net.Addr
}

type serving struct {
	ln    net.Listener
	serve func(net.Listener) error
}

// New makes a server that owns the queue from now on.
func New(cfg Config, q *Queue) *Server {
	s := &Server{cfg: cfg, queue: q, health: health.NewServer(),
		calls: &calls{queue: q, devices: cfg.Devices, started: time.Now(), abandon: cfg.CancelOnDisconnect}}
	s.tcp, s.local = s.grpcServer(cfg.Credentials), s.grpcServer(nil)
	s.http = &http.Server{Handler: s.pages(), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: time.Minute,
		IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10, TLSConfig: cfg.Credentials.tls(),
		ErrorLog: slog.NewLogLogger(cfg.Logger.Handler(), slog.LevelDebug)}
	return s
}

// maxStreams bounds the calls of one connection; handshake the time until a connection may make one.
const (
	maxStreams = 1024
	handshake  = 10 * time.Second
)

func (s *Server) grpcServer(c *Credentials) *grpc.Server {
	g := &guard{creds: c, timeout: s.cfg.UploadTimeout, metrics: s.queue.metrics, log: s.cfg.Logger, maxLarge: int64(s.cfg.MaxUploads),
		maxSmall: int64(4*s.cfg.MaxUploads + 64)}
	opts := []grpc.ServerOption{
		grpc.MaxRecvMsgSize(s.cfg.MaxRequest), grpc.MaxSendMsgSize(s.cfg.MaxRequest), grpc.MaxConcurrentStreams(maxStreams),
		grpc.MaxHeaderListSize(16 << 10), grpc.ConnectionTimeout(handshake), grpc.InTapHandle(g.tap), grpc.UnaryInterceptor(g.unary),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: 30 * time.Minute, Time: time.Minute, Timeout: 20 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
	}
	if t := c.tls(); t != nil {
		opts = append(opts, grpc.Creds(credentials.NewTLS(t)))
	}
	srv := grpc.NewServer(opts...)
	cuzkv1.RegisterProvingEngineServer(srv, s.calls)
	grpc_health_v1.RegisterHealthServer(srv, s.health)
	reflection.Register(srv)
	return srv
}

// Listen opens all addresses, or none. A TCP address that other machines can reach is refused without TLS and tokens.
func (s *Server) Listen() (err error) {
	defer func() {
		if err != nil {
			for _, x := range s.serving {
				_ = x.ln.Close()
			}
			s.serving, s.addrs = nil, nil
		}
	}()
	add := func(network, address string, serve func(net.Listener) error) error {
		ln, err := net.Listen(network, address)
		if err != nil {
			return fmt.Errorf("server: %w", err)
		}
		if err := checkAddress(ln.Addr(), s.cfg.Credentials); err != nil {
			return errors.Join(err, ln.Close())
		}
		s.addrs = append(s.addrs, ln.Addr())
		s.serving = append(s.serving, serving{&limited{Listener: ln, most: int64(s.cfg.MaxConnections),
			refused: s.queue.metrics.refused.WithLabelValues("connections").Inc}, serve})
		return nil
	}
	for _, a := range s.cfg.GRPC {
		if err := add("tcp", a, s.tcp.Serve); err != nil {
			return err
		}
	}
	if s.cfg.Unix != "" {
		if err := removeStale(s.cfg.Unix); err != nil {
			return err
		}
		if err := add("unix", s.cfg.Unix, s.local.Serve); err != nil {
			return err
		}
		if err := os.Chmod(s.cfg.Unix, 0o660); err != nil {
			return fmt.Errorf("server: %w", err)
		}
	}
	if s.cfg.HTTP != "" {
		serve := s.http.Serve
		if s.http.TLSConfig != nil {
			serve = func(l net.Listener) error { return s.http.ServeTLS(l, "", "") }
		}
		return add("tcp", s.cfg.HTTP, serve)
	}
	return nil
}

// removeStale removes a socket that nobody listens at any more.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("server: %w", err)
	}
	if info.Mode()&os.ModeSocket == 0 {
		return fmt.Errorf("server: %s is there and is no socket", path)
	}
	if c, err := net.DialTimeout("unix", path, time.Second); err == nil {
		_ = c.Close()
		return fmt.Errorf("server: %s is in use", path)
	}
	return os.Remove(path)
}

// Addrs are the open addresses: TCP ones, the socket, HTTP.
func (s *Server) Addrs() []net.Addr { return s.addrs }

// Serve lets jobs and calls in until ctx ends, then drains: running jobs get Config.Drain, or until hurry ends; the rest
// goes on after the next start. When it returns all is closed but engine and journal.
func (s *Server) Serve(ctx, hurry context.Context) error {
	s.queue.Start()
	failed := make(chan error, len(s.serving))
	var wg sync.WaitGroup
	for _, x := range s.serving {
		wg.Go(func() {
			if err := x.serve(x.ln); err != nil && !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, grpc.ErrServerStopped) {
				failed <- fmt.Errorf("server: %v: %w", x.ln.Addr(), err)
			}
		})
	}
	watch, stop := context.WithCancel(context.Background())
	wg.Go(func() { s.queue.watchMemory(watch, s.cfg.MemoryEvery, s.cfg.MemoryHigh, ReadMemory) })
	wg.Go(func() { s.clean(watch) })
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	s.drain(hurry)
	stop()
	wg.Wait()
	return err
}

// lastAnswers is the time that finished calls get to reach their clients.
const lastAnswers = 3 * time.Second

func (s *Server) drain(hurry context.Context) {
	s.cfg.Logger.Info("draining", "deadline", s.cfg.Drain)
	s.health.Shutdown()
	ctx, stop := context.WithTimeout(hurry, s.cfg.Drain)
	defer stop()
	s.queue.Stop(ctx)
	var wg sync.WaitGroup
	for _, g := range []*grpc.Server{s.tcp, s.local} {
		wg.Go(func() {
			timer := time.AfterFunc(lastAnswers, g.Stop)
			defer timer.Stop()
			g.GracefulStop()
		})
	}
	wg.Go(func() {
		ctx, stop := context.WithTimeout(context.Background(), lastAnswers)
		defer stop()
		if s.http.Shutdown(ctx) != nil {
			_ = s.http.Close()
		}
	})
	wg.Wait()
}

// clean forgets old jobs now and then.
func (s *Server) clean(ctx context.Context) {
	t := time.NewTicker(time.Minute)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		if err := s.queue.Clean(); err != nil {
			s.cfg.Logger.Error("journal", "err", err)
		}
	}
}
