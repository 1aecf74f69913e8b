package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"strings"

	"github.com/filgroth/filgroth/service/client"
	"github.com/filgroth/filgroth/service/config"
	"github.com/filgroth/filgroth/service/cuzkv1"
	"google.golang.org/grpc"
)

// forward is for nodes whose client knows neither TLS nor tokens: it listens on loopback or a unix socket in plain text and
// passes every call on to a daemon elsewhere, with TLS and a token.
func forward(ctx context.Context, args []string, errOut io.Writer) error {
	fs := flag.NewFlagSet("filgrothd forward", flag.ContinueOnError)
	fs.SetOutput(errOut)
	listen := fs.String("listen", "127.0.0.1:9820", "loopback `address`, or unix:PATH")
	to := fs.String("to", "", "`address` of the daemon")
	ca := fs.String("ca", "", "PEM `file` of the certificates to trust (default: the system's)")
	tokenFile := fs.String("token-file", "", "`file` whose first line is the token")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if *to == "" || *tokenFile == "" {
		return errors.New("forward: -to and -token-file are needed")
	}
	b, err := os.ReadFile(*tokenFile)
	if err != nil {
		return err
	}
	token, _, _ := strings.Cut(strings.TrimSpace(string(b)), "\n")
	c, err := client.New(client.Options{Address: *to, TLS: true, CAFile: *ca, Token: strings.TrimSpace(token)})
	if err != nil {
		return err
	}
	defer c.Close()
	ln, err := listenLocal(*listen)
	if err != nil {
		return err
	}
	s := grpc.NewServer(grpc.MaxRecvMsgSize(client.MaxMessage), grpc.MaxSendMsgSize(client.MaxMessage), grpc.MaxConcurrentStreams(1024))
	cuzkv1.RegisterProvingEngineServer(s, &relay{to: c})
	stop := context.AfterFunc(ctx, s.Stop)
	defer stop()
	fmt.Fprintln(errOut, "forwarding", ln.Addr(), "to", *to)
	return s.Serve(ln)
}

func listenLocal(address string) (net.Listener, error) {
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		return net.Listen("unix", path)
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if !config.Loopback(host) {
		return nil, fmt.Errorf("forward: %s is reachable from other machines, and this end has neither TLS nor tokens", address)
	}
	return net.Listen("tcp", address)
}

// relay passes calls on as they are; status codes come back as they are, too.
type relay struct {
	cuzkv1.UnimplementedProvingEngineServer
	to *client.Client
}

func (r *relay) SubmitProof(ctx context.Context, q *cuzkv1.SubmitProofRequest) (*cuzkv1.SubmitProofResponse, error) {
	return r.to.SubmitProof(ctx, q)
}

func (r *relay) AwaitProof(ctx context.Context, q *cuzkv1.AwaitProofRequest) (*cuzkv1.AwaitProofResponse, error) {
	return r.to.AwaitProof(ctx, q)
}

func (r *relay) Prove(ctx context.Context, q *cuzkv1.ProveRequest) (*cuzkv1.ProveResponse, error) {
	return r.to.Prove(ctx, q)
}

func (r *relay) CancelProof(ctx context.Context, q *cuzkv1.CancelProofRequest) (*cuzkv1.CancelProofResponse, error) {
	return r.to.CancelProof(ctx, q)
}

func (r *relay) GetStatus(ctx context.Context, q *cuzkv1.GetStatusRequest) (*cuzkv1.GetStatusResponse, error) {
	return r.to.GetStatus(ctx, q)
}

func (r *relay) GetMetrics(ctx context.Context, q *cuzkv1.GetMetricsRequest) (*cuzkv1.GetMetricsResponse, error) {
	return r.to.GetMetrics(ctx, q)
}

func (r *relay) PreloadSRS(ctx context.Context, q *cuzkv1.PreloadSRSRequest) (*cuzkv1.PreloadSRSResponse, error) {
	return r.to.PreloadSRS(ctx, q)
}

func (r *relay) EvictSRS(ctx context.Context, q *cuzkv1.EvictSRSRequest) (*cuzkv1.EvictSRSResponse, error) {
	return r.to.EvictSRS(ctx, q)
}
