package server

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/filgroth/filgroth/service/client"
	"github.com/filgroth/filgroth/service/cuzkv1"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// certificate writes a self-signed certificate for loopback.
func certificate(t *testing.T) (cert, key string) {
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, k.Public(), k)
	require.NoError(t, err)
	pk, err := x509.MarshalPKCS8PrivateKey(k)
	require.NoError(t, err)
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	require.NoError(t, os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	require.NoError(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pk}), 0o600))
	return cert, key
}

func tokenFile(t *testing.T, text string) string {
	path := filepath.Join(t.TempDir(), "tokens")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

const goodToken = "a-token-of-a-good-length"

func TestTokensAndTLS(t *testing.T) {
	noLeak(t)
	cert, key := certificate(t)
	tokens := tokenFile(t, "# clients\n"+goodToken+"\n")
	creds, err := LoadCredentials(cert, key, tokens)
	require.NoError(t, err)
	sock := unixSocket(t)
	d := start(t, &fakeEngine{}, t.TempDir(), func(_ *QueueConfig, c *Config) { c.Credentials, c.Unix = creds, sock })
	ctx := context.Background()
	call := func(o client.Options) error {
		c := dial(t, o)
		_, err := c.GetStatus(ctx, &cuzkv1.GetStatusRequest{})
		return err
	}
	ask := func(token string) error {
		return call(client.Options{Address: d.grpc(), CAFile: cert, Token: token})
	}
	require.NoError(t, ask(goodToken))
	for _, bad := range []string{"", "x", goodToken + "x", strings.ToUpper(goodToken), "# clients"} {
		require.Equal(t, codes.Unauthenticated, status.Code(ask(bad)), bad)
	}
	require.Equal(t, codes.Unavailable, status.Code(call(client.Options{Address: d.grpc(), Token: goodToken})), "plain text")
	require.NoError(t, call(client.Options{Address: "unix:" + sock}), "whoever may open the socket is trusted")
	info, err := os.Stat(sock)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o660), info.Mode().Perm())

	pool := x509.NewCertPool()
	b, err := os.ReadFile(cert)
	require.NoError(t, err)
	require.True(t, pool.AppendCertsFromPEM(b))
	tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	defer tr.CloseIdleConnections()
	get := func(path string, auth func(*http.Request)) int {
		r, err := http.NewRequest("GET", "https://"+d.web()+path, nil)
		require.NoError(t, err)
		auth(r)
		resp, err := (&http.Client{Transport: tr}).Do(r)
		require.NoError(t, err)
		defer resp.Body.Close()
		_, _ = io.Copy(io.Discard, resp.Body)
		return resp.StatusCode
	}
	nobody := func(*http.Request) {}
	browser := func(r *http.Request) { r.SetBasicAuth("", goodToken) }
	scraper := func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+goodToken) }
	require.Equal(t, 200, get("/healthz", nobody))
	for _, p := range []string{"/", "/metrics"} {
		require.Equal(t, 401, get(p, nobody), p)
		require.Equal(t, 200, get(p, browser), p)
		require.Equal(t, 200, get(p, scraper), p)
	}

	// rotation
	require.NoError(t, os.WriteFile(tokens, []byte("another-token-of-good-length\n"), 0o600))
	require.NoError(t, creds.Reload())
	require.Equal(t, codes.Unauthenticated, status.Code(ask(goodToken)))
	require.NoError(t, ask("another-token-of-good-length"))
	require.NoError(t, os.WriteFile(tokens, nil, 0o600))
	require.Error(t, creds.Reload())
	require.NoError(t, ask("another-token-of-good-length"), "a bad file changes nothing")
	require.NoError(t, os.Remove(sock))
}

func TestBadCredentials(t *testing.T) {
	cert, key := certificate(t)
	for name, text := range map[string]string{"empty": "", "short": "short\n", "comment": "# nothing\n"} {
		_, err := LoadCredentials(cert, key, tokenFile(t, text))
		require.Error(t, err, name)
	}
	open := tokenFile(t, goodToken)
	require.NoError(t, os.Chmod(open, 0o644))
	_, err := LoadCredentials("", "", open)
	require.ErrorContains(t, err, "open to everybody")
	_, err = LoadCredentials("", "", "/no/such/file")
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = LoadCredentials(key, cert, "")
	require.Error(t, err)
}

func TestPublicAddressIsRefused(t *testing.T) {
	cert, key := certificate(t)
	tlsOnly, err := LoadCredentials(cert, key, "")
	require.NoError(t, err)
	tokenOnly, err := LoadCredentials("", "", tokenFile(t, goodToken))
	require.NoError(t, err)
	q, jn := openQueue(t, t.TempDir(), &fakeEngine{}, nil)
	defer stopQueue(t, q, jn)
	for _, creds := range []*Credentials{nil, tlsOnly, tokenOnly} {
		for _, c := range []Config{{GRPC: []string{"0.0.0.0:0"}}, {GRPC: []string{"127.0.0.1:0", ":0"}}, {HTTP: "[::]:0"}} {
			c.Credentials, c.MaxConnections, c.Logger = creds, 1, testQueueConfig().Logger
			s := New(c, q)
			require.ErrorContains(t, s.Listen(), "reachable from other machines")
			require.Empty(t, s.Addrs(), "nothing stays open")
		}
	}
}

func TestSocketOfAnotherIsNotTaken(t *testing.T) {
	sock := unixSocket(t)
	require.NoError(t, os.WriteFile(sock, nil, 0o600))
	require.Error(t, removeStale(sock), "no socket")
	require.NoError(t, os.Remove(sock))
	ln, err := net.Listen("unix", sock)
	require.NoError(t, err)
	require.ErrorContains(t, removeStale(sock), "in use")
	ln.(*net.UnixListener).SetUnlinkOnClose(false)
	require.NoError(t, ln.Close())
	require.NoError(t, removeStale(sock), "left by a crash")
	require.NoError(t, removeStale(sock), "not there")
}

func TestOversizedMessages(t *testing.T) {
	d := start(t, &fakeEngine{}, t.TempDir(), nil)
	c := d.client(t)
	r := winning("a", "a")
	r.VanillaProofs = append(r.VanillaProofs, make([]byte, 2<<20))
	_, err := c.SubmitProof(context.Background(), r)
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	require.False(t, client.Passes(err), "a client must not send it again and again")
	_, err = c.AwaitProof(context.Background(), &cuzkv1.AwaitProofRequest{JobId: strings.Repeat("x", 2<<20)})
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	_, err = c.ProveJob(context.Background(), winning("a", "a"))
	require.NoError(t, err)
}

// h2 is a client of HTTP/2 frames that says what it wants.
type h2 struct {
	net.Conn
	*http2.Framer
}

func dialH2(t *testing.T, addr string) *h2 {
	c := rawDial(t, addr)
	_, err := c.Write([]byte(http2.ClientPreface))
	require.NoError(t, err)
	f := http2.NewFramer(c, c)
	require.NoError(t, f.WriteSettings())
	return &h2{c, f}
}

// call opens a stream and sends data without ending it.
func (h *h2) call(t *testing.T, stream uint32, method string, data []byte, end bool) {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	for _, f := range [][2]string{{":method", "POST"}, {":scheme", "http"}, {":path", "/cuzk.v1.ProvingEngine/" + method}, {":authority", "x"},
		{"content-type", "application/grpc"}, {"te", "trailers"}} {
		require.NoError(t, e.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}))
	}
	require.NoError(t, h.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: b.Bytes(), EndHeaders: true}))
	require.NoError(t, h.WriteData(stream, end, data))
}

// drain reads what comes, so that the server is not held up by us.
func (h *h2) drain() {
	for {
		if _, err := h.ReadFrame(); err != nil {
			return
		}
	}
}

func TestSlowClients(t *testing.T) {
	noLeak(t)
	e := &fakeEngine{}
	d := start(t, e, t.TempDir(), func(_ *QueueConfig, c *Config) {
		c.MaxUploads, c.UploadTimeout, c.MaxConnections = 3, 300*time.Millisecond, 12
	})
	// messages that announce 900 KiB and bring three bytes, more than there are places
	h := dialH2(t, d.grpc())
	go h.drain()
	for i := range uint32(5) {
		h.call(t, 1+2*i, "SubmitProof", []byte{0, 0, 0x0e, 0x10, 0, 1, 2, 3}, false)
	}
	c := d.client(t)
	_, err := c.GetStatus(context.Background(), &cuzkv1.GetStatusRequest{})
	require.NoError(t, err, "other calls go on")
	patient := dial(t, client.Options{Address: d.grpc(), Patience: time.Minute})
	_, err = patient.ProveJob(context.Background(), winning("a", "a"))
	require.NoError(t, err, "the places are free after the time-out")
	// connections that say nothing, more than may be open
	var idle []net.Conn
	for range 20 {
		idle = append(idle, rawDial(t, d.grpc()))
	}
	_, err = c.ProveJob(context.Background(), winning("b", "b"))
	require.NoError(t, err, "open connections go on")
	for _, x := range idle {
		_ = x.Close()
	}
	eventually(t, "new connections are let in", func() bool {
		x, err := client.New(client.Options{Address: d.grpc()})
		require.NoError(t, err)
		defer x.Close()
		_, err = x.GetStatus(context.Background(), &cuzkv1.GetStatusRequest{})
		return err == nil
	})
	m, err := d.queue.metrics.text()
	require.NoError(t, err)
	for _, reason := range []string{"slow", "uploads", "connections"} {
		require.Contains(t, m, `filgroth_refused_total{reason="`+reason+`"}`)
	}
	require.Equal(t, []string{"winning a", "winning b"}, e.begun())
}

func TestGarbage(t *testing.T) {
	noLeak(t)
	e := &fakeEngine{}
	d := start(t, e, t.TempDir(), nil)
	raw := rawDial(t, d.grpc())
	_, err := raw.Write(bytes.Repeat([]byte("GET / HTTP/1.1\r\n"), 1000))
	require.NoError(t, err)
	h := dialH2(t, d.grpc())
	// not protobuf; a message that is cut; compressed without saying how; a length of 4 GiB; an unknown call
	h.call(t, 1, "SubmitProof", append([]byte{0, 0, 0, 0, 4}, 0xff, 0xff, 0xff, 0xff), true)
	h.call(t, 3, "Prove", []byte{0, 0, 0, 0, 9, 1}, true)
	h.call(t, 5, "Prove", []byte{1, 0, 0, 0, 1, 1}, true)
	h.call(t, 7, "Prove", []byte{0, 0xff, 0xff, 0xff, 0xff, 1}, true)
	h.call(t, 9, "NoSuchCall", []byte{0, 0, 0, 0, 0}, true)
	codesSeen := map[uint32]string{}
	dec := hpack.NewDecoder(4096, nil)
	for len(codesSeen) < 5 {
		f, err := h.ReadFrame()
		require.NoError(t, err)
		x, ok := f.(*http2.HeadersFrame)
		if !ok {
			continue
		}
		fields, err := dec.DecodeFull(x.HeaderBlockFragment())
		require.NoError(t, err)
		for _, f := range fields {
			if f.Name == "grpc-status" {
				codesSeen[x.StreamID] = f.Value
			}
		}
	}
	for stream, code := range codesSeen {
		require.NotEqual(t, "0", code, stream)
	}
	require.Equal(t, "12", codesSeen[9])
	_, err = d.client(t).ProveJob(context.Background(), winning("a", "a"))
	require.NoError(t, err)
	require.Equal(t, []string{"winning a"}, e.begun())
}
