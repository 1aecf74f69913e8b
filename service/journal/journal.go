// Package journal keeps a proving daemon's jobs through crashes and restarts: a small embedded database of records, and a
// spool folder with the requests of unfinished jobs, whose vanilla proofs are removed as soon as they are not needed.
//
// A job is accepted once its request lies in the spool and its record in the database, both synced. One process at a time
// has a journal open. Who needs a database takes bbolt itself.
package journal

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

var (
	// ErrInUse: another process has the journal open.
	ErrInUse = errors.New("journal: in use by another process")
	// ErrForeign: the journal's proofs are under other keys.
	ErrForeign = errors.New("journal: made under other keys")
	// ErrDamaged: the database is not readable, or of another version.
	ErrDamaged = errors.New("journal: damaged")
)

// State of a job.
type State uint8

// The states. The last three are final.
const (
	Queued State = iota
	Running
	Completed
	Failed
	Cancelled
)

var stateNames = []string{"queued", "running", "completed", "failed", "cancelled"}

func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return fmt.Sprintf("State(%d)", uint8(s))
}

// Final says that nothing will change any more.
func (s State) Final() bool { return s >= Completed }

// Record is a job without its vanilla proofs.
type Record struct {
	Seq       uint64 // order of acceptance
	Job       string // its name, given by the daemon
	Request   string // the caller's idempotency key
	Digest    []byte // of everything that determines the proof
	Kind      int32
	Priority  int32
	Size      uint64 // of the sector in bytes, 0 if the caller left it open
	Miner     uint64
	Sector    uint64
	Partition uint32
	Detached  bool // submitted without waiting
	BodyBytes int64

	State     State
	Starts    int // how often it was begun
	Submitted time.Time
	Started   time.Time
	Finished  time.Time
	Proof     []byte
	Error     string
	Times     Times
}

// Times are a job's phases.
type Times struct{ Wait, Load, Synthesis, Compute, Total time.Duration }

var (
	bucketMeta = []byte("meta")
	bucketJobs = []byte("jobs")
	keyVersion = []byte("version")
	keyKeys    = []byte("keys")
)

const version = "1"

// Journal is an open journal. It is safe for concurrent use.
type Journal struct {
	db    *bolt.DB
	spool string
}

// Open opens or makes the journal in dir and gives its records in order of acceptance. Requests in the spool that belong
// to no unfinished job are removed.
func Open(dir string) (_ *Journal, _ []Record, err error) {
	spool := filepath.Join(dir, "spool")
	if err := os.MkdirAll(spool, 0o700); err != nil {
		return nil, nil, fmt.Errorf("journal: %w", err)
	}
	path := filepath.Join(dir, "journal.db")
	defer func() {
		if p := recover(); p != nil { // bbolt panics on some damaged pages
			err = fmt.Errorf("%w: %s: %v", ErrDamaged, path, p)
		}
	}()
	db, err := bolt.Open(path, 0o600, &bolt.Options{Timeout: time.Second, FreelistType: bolt.FreelistMapType})
	switch {
	case err == nil:
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, nil, fmt.Errorf("%w: %s", ErrInUse, path)
	case errors.Is(err, os.ErrPermission):
		return nil, nil, fmt.Errorf("journal: %w", err)
	default:
		return nil, nil, fmt.Errorf("%w: %s: %w", ErrDamaged, path, err)
	}
	j := &Journal{db: db, spool: spool}
	recs, err := j.read()
	if err == nil {
		err = j.sweep(recs)
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%s: %w", path, err), db.Close())
	}
	return j, recs, nil
}

// read makes the buckets and loads all records.
func (j *Journal) read() (recs []Record, err error) {
	err = j.db.Update(func(tx *bolt.Tx) error {
		meta, err := tx.CreateBucketIfNotExists(bucketMeta)
		if err != nil {
			return err
		}
		if v := meta.Get(keyVersion); v == nil {
			if err := meta.Put(keyVersion, []byte(version)); err != nil {
				return err
			}
		} else if string(v) != version {
			return fmt.Errorf("%w: version %q, not %q", ErrDamaged, v, version)
		}
		jobs, err := tx.CreateBucketIfNotExists(bucketJobs)
		if err != nil {
			return err
		}
		return jobs.ForEach(func(k, v []byte) error {
			var r Record
			if err := json.Unmarshal(v, &r); err != nil {
				return fmt.Errorf("%w: record %x: %w", ErrDamaged, k, err)
			}
			if len(k) != 8 || binary.BigEndian.Uint64(k) != r.Seq || !validName(r.Job) {
				return fmt.Errorf("%w: record %x is of job %q, number %d", ErrDamaged, k, r.Job, r.Seq)
			}
			recs = append(recs, r)
			return nil
		})
	})
	return recs, err
}

// Belongs binds a journal to a set of keys: the first name given is kept, another one is ErrForeign later. A proof under
// development keys must not be the answer to a request of a real node.
func (j *Journal) Belongs(keys string) error {
	return j.db.Update(func(tx *bolt.Tx) error {
		meta := tx.Bucket(bucketMeta)
		old := meta.Get(keyKeys)
		if old == nil {
			return meta.Put(keyKeys, []byte(keys))
		}
		if string(old) != keys {
			return fmt.Errorf("%w: %s are for %s, not for %s", ErrForeign, j.db.Path(), old, keys)
		}
		return nil
	})
}

// Check reads the whole database and reports what is inconsistent in it.
func (j *Journal) Check() error {
	var errs []error
	err := j.db.View(func(tx *bolt.Tx) error {
		for err := range tx.Check() {
			errs = append(errs, fmt.Errorf("%w: %w", ErrDamaged, err))
		}
		return nil
	})
	return errors.Join(append(errs, err)...)
}

// Accept stores a new job: its request in the spool, then the record, whose Seq it sets. On an error nothing is left.
func (j *Journal) Accept(r *Record, body []byte) error {
	if err := j.store(r.Job, body); err != nil {
		return err
	}
	err := j.db.Batch(func(tx *bolt.Tx) error {
		seq, err := tx.Bucket(bucketJobs).NextSequence()
		if err != nil {
			return err
		}
		r.Seq = seq
		return put(tx, r)
	})
	if err != nil {
		return errors.Join(fmt.Errorf("journal: %w", err), j.Drop(r.Job))
	}
	return nil
}

// Put stores a changed record.
func (j *Journal) Put(r Record) error {
	if err := j.db.Batch(func(tx *bolt.Tx) error { return put(tx, &r) }); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}

func put(tx *bolt.Tx, r *Record) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return tx.Bucket(bucketJobs).Put(key(r.Seq), b)
}

// Delete forgets records.
func (j *Journal) Delete(seqs ...uint64) error {
	if len(seqs) == 0 {
		return nil
	}
	err := j.db.Update(func(tx *bolt.Tx) error {
		for _, s := range seqs {
			if err := tx.Bucket(bucketJobs).Delete(key(s)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}

// Bytes is the size of the database file.
func (j *Journal) Bytes() (n int64) {
	_ = j.db.View(func(tx *bolt.Tx) error { n = tx.Size(); return nil })
	return n
}

// Close waits for running calls and closes the database.
func (j *Journal) Close() error { return j.db.Close() }

func key(seq uint64) []byte { return binary.BigEndian.AppendUint64(nil, seq) }
