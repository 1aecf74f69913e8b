// Package client talks to a proving daemon that speaks cuzk.v1: filgrothd, or another one. It connects lazily, and asks
// again under the same request id where a call failed for a reason that passes (a restart, a full queue), which an
// idempotent daemon answers with the same job.
package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/filgroth/filgroth/service/cuzkv1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// MaxMessage is the largest message in both directions.
const MaxMessage = 256 << 20

// Options say where the daemon is. Only Address is needed.
type Options struct {
	// Address is host:port, a gRPC target with a scheme, or unix:PATH.
	Address string
	// TLS connects with TLS; CAFile trusts these certificates only, empty the system's.
	TLS    bool
	CAFile string
	// Token is sent with every call; it needs TLS, except to a unix socket or loopback.
	Token string
	// Patience is how long calls that can be repeated are repeated; 0 is not at all.
	Patience time.Duration
}

// Client is a connection. It is safe for concurrent use.
type Client struct {
	cuzkv1.ProvingEngineClient
	conn     *grpc.ClientConn
	patience time.Duration
}

// token sends the token along with every call.
type token struct {
	value string
	tls   bool
}

func (t token) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + t.value}, nil
}

func (t token) RequireTransportSecurity() bool { return t.tls }

// New makes a client. It connects at the first call.
func New(o Options) (*Client, error) {
	target := o.Address
	if target == "" {
		return nil, errors.New("client: no address")
	}
	if !strings.Contains(target, "://") && !strings.HasPrefix(target, "unix:") {
		target = "dns:///" + target
	}
	opts := []grpc.DialOption{grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(MaxMessage), grpc.MaxCallSendMsgSize(MaxMessage))}
	creds := insecure.NewCredentials()
	if o.TLS || o.CAFile != "" {
		cfg := &tls.Config{MinVersion: tls.VersionTLS12}
		if o.CAFile != "" {
			pem, err := os.ReadFile(o.CAFile)
			if err != nil {
				return nil, fmt.Errorf("client: %w", err)
			}
			cfg.RootCAs = x509.NewCertPool()
			if !cfg.RootCAs.AppendCertsFromPEM(pem) {
				return nil, fmt.Errorf("client: %s has no certificate", o.CAFile)
			}
		}
		creds = credentials.NewTLS(cfg)
	}
	opts = append(opts, grpc.WithTransportCredentials(creds))
	if o.Token != "" {
		needs := !strings.HasPrefix(target, "unix:") && !loopback(target)
		opts = append(opts, grpc.WithPerRPCCredentials(token{o.Token, needs}))
	}
	conn, err := grpc.NewClient(target, opts...)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	return &Client{cuzkv1.NewProvingEngineClient(conn), conn, o.Patience}, nil
}

func loopback(target string) bool {
	host := strings.TrimPrefix(target, "dns:///")
	for _, l := range []string{"127.0.0.1:", "localhost:", "[::1]:"} {
		if strings.HasPrefix(host, l) {
			return true
		}
	}
	return false
}

// Close closes the connection.
func (c *Client) Close() error { return c.conn.Close() }

// JobError is a job that ended without a proof.
type JobError struct {
	Job     string
	Status  cuzkv1.AwaitProofResponse_Status
	Message string
}

func (e *JobError) Error() string { return fmt.Sprintf("job %s: %v: %s", e.Job, e.Status, e.Message) }

// ErrNoProof: an answer without a proof where there should be one.
var ErrNoProof = errors.New("client: no proof in the answer")

// ProveJob proves, and only gives an answer with a proof: a job that failed or was cancelled is a *JobError. What passes
// is waited out as long as the client's patience lasts, if the request has an id.
func (c *Client) ProveJob(ctx context.Context, r *cuzkv1.SubmitProofRequest) (*cuzkv1.AwaitProofResponse, error) {
	var result *cuzkv1.AwaitProofResponse
	err := c.Repeat(ctx, r.RequestId != "", func(ctx context.Context) error {
		resp, err := c.Prove(ctx, &cuzkv1.ProveRequest{Submit: r})
		result = resp.GetResult()
		return err
	})
	if err != nil {
		return nil, err
	}
	return checked(result)
}

// AwaitJob waits for a job as ProveJob does.
func (c *Client) AwaitJob(ctx context.Context, job string) (*cuzkv1.AwaitProofResponse, error) {
	var result *cuzkv1.AwaitProofResponse
	err := c.Repeat(ctx, true, func(ctx context.Context) (err error) {
		result, err = c.AwaitProof(ctx, &cuzkv1.AwaitProofRequest{JobId: job})
		return err
	})
	if err != nil {
		return nil, err
	}
	return checked(result)
}

func checked(r *cuzkv1.AwaitProofResponse) (*cuzkv1.AwaitProofResponse, error) {
	switch {
	case r == nil:
		return nil, ErrNoProof
	case r.Status != cuzkv1.AwaitProofResponse_COMPLETED:
		return nil, &JobError{r.JobId, r.Status, r.ErrorMessage}
	case len(r.Proof) == 0 || len(r.Proof)%192 != 0:
		return nil, fmt.Errorf("%w: %d bytes", ErrNoProof, len(r.Proof))
	}
	return r, nil
}

// Repeat calls f until it does not fail for a reason that passes, or the client's patience or ctx ends.
func (c *Client) Repeat(ctx context.Context, may bool, f func(context.Context) error) error {
	deadline := time.Now().Add(c.patience)
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		err := f(ctx)
		if err == nil || !may || !Passes(err) || ctx.Err() != nil || time.Now().Add(pause).After(deadline) {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return err
		}
	}
}

// Passes says whether a call's error may be gone when the call is made again: the daemon is away or busy.
func Passes(err error) bool {
	switch status.Code(err) {
	case codes.Unavailable:
		return true
	case codes.ResourceExhausted: // not a message that is too large
		return strings.Contains(err.Error(), "busy")
	}
	return false
}

// Capacity is how many more jobs a caller may send who allows itself so many unfinished ones, over all kinds.
func (c *Client) Capacity(ctx context.Context, allowed int) (int, error) {
	s, err := c.GetStatus(ctx, &cuzkv1.GetStatusRequest{})
	if err != nil {
		return 0, err
	}
	for _, q := range s.Queues {
		allowed -= int(q.Pending) + int(q.InProgress)
	}
	return max(0, allowed), nil
}
