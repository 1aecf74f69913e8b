package vanilla

// Walker reads or writes one structure, member by member. Every type describes itself once (its walk function); the four codecs
// implement Walker.
//
// List lengths are always given by the caller, from the shape of the proof, never by the input: a decoder that meets another length
// reports it, so that nothing is allocated for lengths that a file claims.
type Walker interface {
	// Decoding tells whether values are set (true) or read.
	Decoding() bool
	// Object is a structure; JSON members come in any order when decoding, in the given order otherwise.
	Object(fields ...Field) error
	// Variant is an enumeration with one payload. Decoding sets *sel to the index in names before it calls payload.
	Variant(names []string, sel *int, payload func() error) error
	// List is a sequence of exactly n elements.
	List(n int, elem func(i int) error) error
	// Node is a canonical field element, Bytes32 any 32 bytes; Nodes is a List of Node.
	Node(*Commitment) error
	Bytes32(*Commitment) error
	Nodes([]Commitment) error
	U32(*uint32) error
	U64(*uint64) error
	// Text is a string.
	Text(*string) error
	// Unit is a member that carries nothing (JSON null, no bytes in bincode).
	Unit() error
}

// Field is one member of an Object.
type Field struct {
	Name string
	Walk func() error
}

// Slice walks a list of exactly n elements; decoding allocates it.
func Slice[T any](w Walker, s *[]T, n int, elem func(i int, e *T) error) error {
	if err := size(w, s, n); err != nil {
		return err
	}
	return w.List(n, func(i int) error { return elem(i, &(*s)[i]) })
}

// NodeSlice walks a list of exactly n canonical field elements; decoding allocates it.
func NodeSlice(w Walker, s *[]Commitment, n int) error {
	if err := size(w, s, n); err != nil {
		return err
	}
	return w.Nodes(*s)
}

func size[T any](w Walker, s *[]T, n int) error {
	if w.Decoding() {
		*s = make([]T, n)
		return nil
	}
	if len(*s) != n {
		return Errorf("", "has %d elements, want %d", len(*s), n)
	}
	return nil
}
