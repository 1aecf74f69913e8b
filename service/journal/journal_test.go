package journal

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	bolt "go.etcd.io/bbolt"
)

func record(i int) *Record {
	return &Record{Job: fmt.Sprintf("job-%d", i), Request: fmt.Sprintf("r%d", i), Digest: []byte{byte(i)}, Kind: 4, Submitted: time.Unix(int64(i), 0).UTC()}
}

func TestRecordsSurvive(t *testing.T) {
	dir := t.TempDir()
	j, recs, err := Open(dir)
	require.NoError(t, err)
	require.Empty(t, recs)
	var want []Record
	for i := range 5 {
		r := record(i)
		require.NoError(t, j.Accept(r, bytes.Repeat([]byte{byte(i)}, 100)))
		require.Equal(t, uint64(i+1), r.Seq)
		want = append(want, *r)
	}
	want[1].State, want[1].Proof, want[1].Times.Total = Completed, []byte{1, 2}, time.Second
	require.NoError(t, j.Put(want[1]))
	require.NoError(t, j.Delete(want[3].Seq))
	want = append(want[:3], want[4])
	_, _, err = Open(dir)
	require.ErrorIs(t, err, ErrInUse)
	require.NoError(t, j.Belongs("these"))
	require.NoError(t, j.Check())
	require.Positive(t, j.Bytes())
	require.NoError(t, j.Close())
	require.NoError(t, os.WriteFile(filepath.Join(dir, "spool", ".x.tmp-1"), []byte("half"), 0o600))

	j, recs, err = Open(dir)
	require.NoError(t, err)
	require.NoError(t, j.Belongs("these"))
	require.ErrorIs(t, j.Belongs("those"), ErrForeign)
	require.Equal(t, want, recs)
	files, err := os.ReadDir(filepath.Join(dir, "spool"))
	require.NoError(t, err)
	require.Len(t, files, 3, "requests of finished and unknown jobs, and half a file, are gone")
	b, err := j.Body("job-2")
	require.NoError(t, err)
	require.Equal(t, bytes.Repeat([]byte{2}, 100), b)
	info, err := files[0].Info()
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	_, err = j.Body("job-1")
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, j.Drop("job-2"))
	require.NoError(t, j.Drop("job-2"))
	// numbers are not used twice, even after the last was deleted
	r := record(9)
	require.NoError(t, j.Accept(r, nil))
	require.Equal(t, uint64(6), r.Seq)
	require.NoError(t, j.Close())
}

func TestConcurrentAccept(t *testing.T) {
	j, _, err := Open(t.TempDir())
	require.NoError(t, err)
	defer j.Close()
	var wg sync.WaitGroup
	seqs := make([]uint64, 50)
	errs := make([]error, 50)
	for i := range 50 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			r := record(i)
			errs[i] = j.Accept(r, []byte{1})
			seqs[i] = r.Seq
		}()
	}
	wg.Wait()
	seen := map[uint64]bool{}
	for i := range seqs {
		require.NoError(t, errs[i])
		require.False(t, seen[seqs[i]])
		seen[seqs[i]] = true
	}
}

func TestAcceptLeavesNothingOnError(t *testing.T) {
	dir := t.TempDir()
	j, _, err := Open(dir)
	require.NoError(t, err)
	for _, name := range []string{"", "../x", "A", "a/b"} {
		require.Error(t, j.Accept(&Record{Job: name}, nil), name)
	}
	require.NoError(t, j.Close())
	require.Error(t, j.Accept(record(1), []byte("x")), "closed")
	files, err := os.ReadDir(filepath.Join(dir, "spool"))
	require.NoError(t, err)
	require.Empty(t, files)
}

func TestDamage(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "journal.db")
	require.NoError(t, os.WriteFile(path, bytes.Repeat([]byte("no database "), 1000), 0o600))
	_, _, err := Open(dir)
	require.ErrorIs(t, err, ErrDamaged)
	require.NoError(t, os.Remove(path))

	for name, change := range map[string]func(tx *bolt.Tx) error{
		"version": func(tx *bolt.Tx) error { return tx.Bucket(bucketMeta).Put(keyVersion, []byte("99")) },
		"json":    func(tx *bolt.Tx) error { return tx.Bucket(bucketJobs).Put(key(1), []byte("{")) },
		"number":  func(tx *bolt.Tx) error { return tx.Bucket(bucketJobs).Put(key(1), []byte(`{"Seq":2,"Job":"a"}`)) },
		"name":    func(tx *bolt.Tx) error { return tx.Bucket(bucketJobs).Put(key(1), []byte(`{"Seq":1,"Job":"../a"}`)) },
	} {
		dir := t.TempDir()
		j, _, err := Open(dir)
		require.NoError(t, err)
		require.NoError(t, j.db.Update(change))
		require.NoError(t, j.Close())
		_, _, err = Open(dir)
		require.ErrorIs(t, err, ErrDamaged, name)
	}
}
