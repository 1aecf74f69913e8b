package server

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/filgroth/filgroth/service/cuzkv1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
)

// guard decides about a call before its message is read: by token, by the number of messages on their way in, by time.
type guard struct {
	creds   *Credentials // nil opens to all
	timeout time.Duration
	metrics *metrics
	log     *slog.Logger

	large, small       atomic.Int64 // messages on their way in
	maxLarge, maxSmall int64
}

// upload is a message on its way in, or one being journalled.
type upload struct {
	timer   *time.Timer
	release func()
}

type uploadKey struct{}

// arrived stops the clock; done gives the place free. Both may be called again.
func (u *upload) arrived() { u.timer.Stop() }
func (u *upload) done()    { u.timer.Stop(); u.release() }

func uploadOf(ctx context.Context) *upload {
	u, _ := ctx.Value(uploadKey{}).(*upload)
	return u
}

// tap runs in the connection's own goroutine before the message is read.
func (g *guard) tap(ctx context.Context, info *tap.Info) (context.Context, error) {
	if g.creds != nil {
		token := ""
		if h := info.Header.Get("authorization"); len(h) == 1 {
			token = bearer(h[0])
		}
		if !g.creds.allows(token) {
			g.metrics.refused.WithLabelValues("token").Inc()
			return nil, status.Error(codes.Unauthenticated, "wrong token or none")
		}
	}
	if !strings.HasPrefix(info.FullMethodName, "/"+cuzkv1.ProvingEngine_ServiceDesc.ServiceName+"/") {
		return ctx, nil // reflection and health: small, and streams that stay open
	}
	n, most := &g.small, g.maxSmall
	switch info.FullMethodName {
	case cuzkv1.ProvingEngine_SubmitProof_FullMethodName, cuzkv1.ProvingEngine_Prove_FullMethodName:
		n, most = &g.large, g.maxLarge
	}
	if n.Add(1) > most {
		n.Add(-1)
		g.metrics.refused.WithLabelValues("uploads").Inc()
		return nil, status.Errorf(codes.ResourceExhausted, "busy: %d messages are on their way in", most)
	}
	ctx, cancel := context.WithCancel(ctx)
	u := &upload{release: sync.OnceFunc(func() { n.Add(-1) })}
	u.timer = time.AfterFunc(g.timeout, func() {
		g.metrics.refused.WithLabelValues("slow").Inc()
		cancel()
	})
	context.AfterFunc(ctx, u.done) // the stream has ended
	return context.WithValue(ctx, uploadKey{}, u), nil
}

// unary runs around each call once its message is there. A panic becomes an error of that call.
func (g *guard) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (resp any, err error) {
	u := uploadOf(ctx)
	if u != nil {
		u.arrived()
		switch req.(type) {
		case *cuzkv1.SubmitProofRequest, *cuzkv1.ProveRequest: // its handler says when the message has left memory
		default:
			u.done()
		}
	}
	defer func() {
		if p := recover(); p != nil {
			g.log.Error("panic", "call", info.FullMethod, "panic", p, "stack", string(debug.Stack()))
			resp, err = nil, status.Error(codes.Internal, "internal error")
		}
		if u != nil {
			u.done()
		}
		if err != nil {
			g.log.Debug("call refused", "call", info.FullMethod, "err", err)
		}
	}()
	return handle(ctx, req)
}

// limited closes connections beyond a number at once, so that idle ones do not keep the listener waiting.
type limited struct {
	net.Listener
	open    atomic.Int64
	most    int64
	refused func()
}

func (l *limited) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.open.Add(1) > l.most {
			l.open.Add(-1)
			l.refused()
			_ = c.Close()
			continue
		}
		return &counted{Conn: c, gone: sync.OnceFunc(func() { l.open.Add(-1) })}, nil
	}
}

type counted struct {
	net.Conn
	gone func()
}

func (c *counted) Close() error {
	c.gone()
	return c.Conn.Close()
}

// checkAddress refuses an open listener that others can reach without TLS and tokens.
func checkAddress(a net.Addr, c *Credentials) error {
	t, ok := a.(*net.TCPAddr)
	if !ok || t.IP.IsLoopback() || c.secure() {
		return nil
	}
	return fmt.Errorf("server: %v is reachable from other machines and has no TLS with tokens", a)
}
