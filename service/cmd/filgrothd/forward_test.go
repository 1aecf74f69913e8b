package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/filgroth/filgroth/service/client"
	"github.com/filgroth/filgroth/service/cuzkv1"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// writeCertificate writes a self-signed certificate for 127.0.0.1.
func writeCertificate(t *testing.T, dir string) (cert, key string) {
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, c, c, k.Public(), k)
	require.NoError(t, err)
	pk, err := x509.MarshalPKCS8PrivateKey(k)
	require.NoError(t, err)
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	require.NoError(t, os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	require.NoError(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pk}), 0o600))
	return cert, key
}

func freePort(t *testing.T) int {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	return ln.Addr().(*net.TCPAddr).Port
}

// A plain client, as Curio's, reaches a daemon with TLS and tokens through the forwarder.
func TestForward(t *testing.T) {
	dir, err := os.MkdirTemp("", "fwd-*")
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	cert, key := writeCertificate(t, dir)
	token, wrong := filepath.Join(dir, "token"), filepath.Join(dir, "wrong")
	require.NoError(t, os.WriteFile(token, []byte("a-token-of-good-length\n"), 0o600))
	require.NoError(t, os.WriteFile(wrong, []byte("another-token-of-length\n"), 0o600))
	port := freePort(t)
	cfg := filepath.Join(dir, "c.toml")
	require.NoError(t, os.WriteFile(cfg, []byte(fmt.Sprintf("[listen]\ngrpc = [\"127.0.0.1:%d\"]\nhttp = \"\"\n[security]\ntls_cert = %q\ntls_key = %q\ntoken_file = %q\n"+
		"[engine]\ndevelopment_keys = true\ndevices = \"cpu\"\n[state]\ndir = %q\n", port, cert, key, token, filepath.Join(dir, "state"))), 0o600))
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 3)
	go func() { var b bytes.Buffer; done <- run(ctx, ctx, []string{"-config", cfg}, &b, &b) }()
	for _, f := range []string{token, wrong} {
		go func() {
			var b bytes.Buffer
			done <- run(ctx, ctx, []string{"forward", "-listen", "unix:" + f + ".sock", "-to", fmt.Sprintf("127.0.0.1:%d", port), "-ca", cert, "-token-file", f}, &b, &b)
		}()
	}
	call := func(f string) (*client.Client, error) {
		c, err := client.New(client.Options{Address: "unix:" + f + ".sock", Patience: time.Minute})
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		return c, c.Repeat(ctx, true, func(ctx context.Context) error {
			_, err := c.GetStatus(ctx, &cuzkv1.GetStatusRequest{})
			return err
		})
	}
	_, err = call(wrong)
	require.Equal(t, codes.Unauthenticated, status.Code(err))
	c, err := call(token)
	require.NoError(t, err)
	// each call arrives as itself, and its status comes back
	for want, err := range map[codes.Code]error{
		codes.InvalidArgument: func() error { _, err := c.Prove(ctx, &cuzkv1.ProveRequest{}); return err }(),
		codes.NotFound:        func() error { _, err := c.AwaitProof(ctx, &cuzkv1.AwaitProofRequest{JobId: "x"}); return err }(),
	} {
		require.Equal(t, want, status.Code(err))
	}
	_, err = c.SubmitProof(ctx, &cuzkv1.SubmitProofRequest{})
	require.Equal(t, codes.InvalidArgument, status.Code(err))
	_, err = c.CancelProof(ctx, &cuzkv1.CancelProofRequest{})
	require.Equal(t, codes.NotFound, status.Code(err))
	_, err = c.PreloadSRS(ctx, &cuzkv1.PreloadSRSRequest{})
	require.Equal(t, codes.InvalidArgument, status.Code(err))
	e, err := c.EvictSRS(ctx, &cuzkv1.EvictSRSRequest{CircuitId: "porep-2k"})
	require.NoError(t, err)
	require.False(t, e.WasLoaded)
	m, err := c.GetMetrics(ctx, &cuzkv1.GetMetricsRequest{})
	require.NoError(t, err)
	require.Contains(t, m.PrometheusText, "filgroth_healthy 1")
	stop()
	for range 3 {
		require.NoError(t, <-done)
	}
}
