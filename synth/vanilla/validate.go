package vanilla

// validator is a Walker that writes nothing: it finds wrong lengths (through Slice), values out of range and elements that are not
// canonical in a structure that did not come through a decoder.
type validator struct{}

// Validate walks a structure and returns the first malformed field as a *FieldError.
func Validate(walk func(Walker) error) error { return walk(validator{}) }

func (validator) Decoding() bool { return false }

func (validator) Object(fields ...Field) error {
	for _, f := range fields {
		if err := f.Walk(); err != nil {
			return In(f.Name, err)
		}
	}
	return nil
}

func (validator) Variant(names []string, sel *int, payload func() error) error {
	if *sel < 0 || *sel >= len(names) {
		return Errorf("", "unknown variant %d", *sel)
	}
	return In(names[*sel], payload())
}

func (validator) List(n int, elem func(i int) error) error {
	for i := 0; i < n; i++ {
		if err := elem(i); err != nil {
			return At(i, err)
		}
	}
	return nil
}

func (v validator) Nodes(s []Commitment) error {
	for i := range s {
		if !s[i].Canonical() {
			return At(i, Errorf("", reasonCanonical))
		}
	}
	return nil
}

func (validator) Node(c *Commitment) error {
	if !c.Canonical() {
		return Errorf("", reasonCanonical)
	}
	return nil
}

func (validator) Bytes32(*Commitment) error { return nil }
func (validator) U32(*uint32) error         { return nil }
func (validator) U64(*uint64) error         { return nil }
func (validator) Text(*string) error        { return nil }
func (validator) Unit() error               { return nil }
