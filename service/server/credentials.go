package server

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
)

// Credentials are the server's certificate and the tokens that open its TCP addresses, from files that can be read again.
type Credentials struct {
	cert, key, tokens string
	certificate       atomic.Pointer[tls.Certificate]
	sums              atomic.Pointer[[][32]byte]
}

// LoadCredentials reads the files. Empty paths mean no TLS, and no tokens.
func LoadCredentials(cert, key, tokens string) (*Credentials, error) {
	c := &Credentials{cert: cert, key: key, tokens: tokens}
	return c, c.Reload()
}

// Reload reads the files again; on an error the old ones stay.
func (c *Credentials) Reload() error {
	var pair *tls.Certificate
	if c.cert != "" {
		p, err := tls.LoadX509KeyPair(c.cert, c.key)
		if err != nil {
			return fmt.Errorf("server: certificate: %w", err)
		}
		pair = &p
	}
	var sums *[][32]byte
	if c.tokens != "" {
		s, err := readTokens(c.tokens)
		if err != nil {
			return err
		}
		sums = &s
	}
	c.certificate.Store(pair)
	c.sums.Store(sums)
	return nil
}

// minToken is the length below which a token can be guessed.
const minToken = 16

func readTokens(path string) (sums [][32]byte, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("server: tokens: %w", err)
	}
	if info.Mode().Perm()&0o007 != 0 {
		return nil, fmt.Errorf("server: tokens: %s is open to everybody (mode %v); chmod o-rwx it", path, info.Mode().Perm())
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("server: tokens: %w", err)
	}
	lines := bufio.NewScanner(bytes.NewReader(b))
	for n := 1; lines.Scan(); n++ {
		t := strings.TrimSpace(lines.Text())
		if t == "" || strings.HasPrefix(t, "#") {
			continue
		}
		if len(t) < minToken {
			return nil, fmt.Errorf("server: tokens: %s: line %d is shorter than %d characters", path, n, minToken)
		}
		sums = append(sums, sha256.Sum256([]byte(t)))
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("server: tokens: %w", err)
	}
	if len(sums) == 0 {
		return nil, fmt.Errorf("server: tokens: %s has none", path)
	}
	return sums, nil
}

// secure says whether there are both certificate and tokens.
func (c *Credentials) secure() bool {
	return c != nil && c.certificate.Load() != nil && c.sums.Load() != nil
}

// tls is the server's TLS configuration, nil without a certificate.
func (c *Credentials) tls() *tls.Config {
	if c == nil || c.certificate.Load() == nil {
		return nil
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		if p := c.certificate.Load(); p != nil {
			return p, nil
		}
		return nil, errors.New("no certificate")
	}}
}

// allows says whether a token opens the door; every token is compared, in constant time.
func (c *Credentials) allows(token string) bool {
	if c == nil {
		return true
	}
	sums := c.sums.Load()
	if sums == nil {
		return true
	}
	got, ok := sha256.Sum256([]byte(token)), 0
	for _, s := range *sums {
		ok |= subtle.ConstantTimeCompare(s[:], got[:])
	}
	return ok == 1
}

// bearer takes the token out of an authorization header.
func bearer(header string) string {
	scheme, token, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}
