package vanilla

import (
	"fmt"
	"strings"
)

// Fault is one thing wrong with the vanilla proofs of a partition.
type Fault struct {
	Partition int // -1: concerns all
	Item      int // challenge (PoRep, update) or position of the sector (PoSt); -1: concerns the partition
	Sector    uint64
	Field     string // path
	Reason    string
}

func (f Fault) String() string { return f.Field + ": " + f.Reason }

// CheckError lists everything that a check found, in order of partition and item.
type CheckError struct{ Faults []Fault }

const shownFaults = 4

func (e *CheckError) Error() string {
	var b strings.Builder
	b.WriteString("vanilla proofs do not hold: ")
	for i, f := range e.Faults {
		if i == shownFaults {
			fmt.Fprintf(&b, "; and %d more", len(e.Faults)-i)
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(f.String())
	}
	return b.String()
}

// AsCheckError returns nil for an empty list.
func AsCheckError(lists ...[]Fault) error {
	var all []Fault
	for _, l := range lists {
		all = append(all, l...)
	}
	if len(all) == 0 {
		return nil
	}
	return &CheckError{Faults: all}
}

// Faults collects the faults of one item.
type Faults struct {
	Partition, Item int
	Sector          uint64
	Prefix          string // path of the item
	List            []Fault
}

// Add records a fault of a field, whose path is relative to the item.
func (f *Faults) Add(field, format string, args ...any) {
	path := f.Prefix
	if field != "" {
		path += "." + field
	}
	f.List = append(f.List, Fault{Partition: f.Partition, Item: f.Item, Sector: f.Sector, Field: path, Reason: fmt.Sprintf(format, args...)})
}

// MerkleWant is what a Merkle proof is checked against.
type MerkleWant struct {
	Index    uint64
	Root     Commitment
	RootName string
	SHA256   bool
}

// Merkle checks root, position and path of a proof under a field's name; true if all hold. A wrong root field alone gives one
// fault, and so does a wrong path.
func (f *Faults) Merkle(field string, p *MerkleProof, want MerkleWant) bool {
	n := len(f.List)
	data := field + ".data." + p.Form.String()
	if p.Root != want.Root {
		f.Add(data+".root", "is not %s (%v)", want.RootName, want.Root)
	}
	if i := p.Index(); i != want.Index {
		f.Add(data, "path of leaf %d, want %d", i, want.Index)
		return false
	}
	root, ok := p.PoseidonRoot, false
	if want.SHA256 {
		root = p.SHA256Root
	}
	var got Commitment
	if got, ok = root(); !ok || got != want.Root {
		f.Add(data, "leaf and path do not hash to %s", want.RootName)
	}
	return len(f.List) == n
}
