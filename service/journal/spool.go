package journal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/filgroth/filgroth/internal/atomicfile"
)

// suffix is the ending of a request in the spool; other files there are leavings of a crash.
const suffix = ".request"

// validName says that a job's name is safe as a file name.
func validName(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	for _, c := range s {
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && c != '-' {
			return false
		}
	}
	return true
}

func (j *Journal) path(job string) string { return filepath.Join(j.spool, job+suffix) }

func (j *Journal) store(job string, body []byte) error {
	if !validName(job) {
		return fmt.Errorf("journal: job name %q", job)
	}
	err := atomicfile.Write(j.path(job), 0o600, func(w io.Writer) error {
		_, err := w.Write(body)
		return err
	})
	if err != nil {
		return fmt.Errorf("journal: spool: %w", err)
	}
	return nil
}

// Body reads an unfinished job's request.
func (j *Journal) Body(job string) ([]byte, error) {
	b, err := os.ReadFile(j.path(job))
	if err != nil {
		return nil, fmt.Errorf("journal: spool: %w", err)
	}
	return b, nil
}

// Drop removes a job's request; it need not be there.
func (j *Journal) Drop(job string) error {
	if err := os.Remove(j.path(job)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("journal: spool: %w", err)
	}
	return nil
}

// sweep removes from the spool all that no unfinished job needs.
func (j *Journal) sweep(recs []Record) error {
	keep := map[string]bool{}
	for _, r := range recs {
		if !r.State.Final() {
			keep[r.Job+suffix] = true
		}
	}
	files, err := os.ReadDir(j.spool)
	if err != nil {
		return err
	}
	for _, f := range files {
		if !keep[f.Name()] {
			if err := os.RemoveAll(filepath.Join(j.spool, f.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}
