package groth16

import "fmt"

// Section is one of the five queries of a proving key.
type Section uint8

// The sections in file order: h and l, then a (inputs before aux, points at infinity left out), then b in G1 and in G2.
const (
	SectionH Section = iota
	SectionL
	SectionA
	SectionB1
	SectionB2
	NumSections = 5
)

var sectionNames = [NumSections]string{"h", "l", "a", "b_g1", "b_g2"}

func (s Section) String() string {
	if int(s) < len(sectionNames) {
		return sectionNames[s]
	}
	return fmt.Sprintf("Section(%d)", uint8(s))
}

// PointSize is the size in bytes of a point of the section in file encoding (uncompressed).
func (s Section) PointSize() int {
	if s == SectionB2 {
		return 192
	}
	return 96
}
