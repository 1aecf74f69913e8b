package stats

import (
	"fmt"
	"math"
)

// Verdict is what a comparison comes to.
type Verdict string

// The verdicts. Smaller values are better.
const (
	Better       Verdict = "better"
	Worse        Verdict = "worse"
	NoDifference Verdict = "no difference"
	NoVerdict    Verdict = "no verdict" // the interval is too wide, or there are too few values
)

// Rule is when a comparison counts. The zero value is Alpha and Confidence of 0.05 and 0.95, MinEffect of 1 % and Tolerance of 5 %.
type Rule struct {
	Alpha      float64 `json:"alpha"`      // the adjusted p-value of a difference is below it
	Confidence float64 `json:"confidence"` // of all intervals
	MinEffect  float64 `json:"min_effect"` // smaller relative differences are none, however certain
	Tolerance  float64 `json:"tolerance"`  // "no difference" needs an interval within 1/(1+t) to 1+t
}

// Defaults gives r with its zero fields set.
func (r Rule) Defaults() Rule {
	for p, v := range map[*float64]float64{&r.Alpha: 0.05, &r.Confidence: 0.95, &r.MinEffect: 0.01, &r.Tolerance: 0.05} {
		if *p == 0 {
			*p = v
		}
	}
	return r
}

// Validate refuses rules that mean nothing. Zero values are the defaults.
func (r Rule) Validate() error {
	r = r.Defaults()
	if !(r.Alpha > 0 && r.Alpha < 1) || !(r.Confidence > 0 && r.Confidence < 1) {
		return fmt.Errorf("stats: significance %v, confidence %v: between 0 and 1", r.Alpha, r.Confidence)
	}
	if !(r.MinEffect > 0 && r.MinEffect < math.Inf(1)) || !(r.Tolerance > 0 && r.Tolerance < math.Inf(1)) {
		return fmt.Errorf("stats: least effect %v, tolerance %v: positive", r.MinEffect, r.Tolerance)
	}
	return nil
}

// Judge turns an adjusted p-value and a ratio into a verdict. An effect that is certain but smaller than MinEffect is no
// difference; one that is not certain is no difference only if the interval excludes effects beyond Tolerance.
func (r Rule) Judge(p float64, ratio Interval) Verdict {
	r = r.Defaults()
	effect := math.Abs(math.Log(ratio.Center))
	within := ratio.High <= 1+r.Tolerance && ratio.Low >= 1/(1+r.Tolerance)
	switch {
	case math.IsNaN(effect):
		return NoVerdict
	case p < r.Alpha && effect >= math.Log1p(r.MinEffect) && ratio.Center < 1:
		return Better
	case p < r.Alpha && effect >= math.Log1p(r.MinEffect):
		return Worse
	case within:
		return NoDifference
	}
	return NoVerdict
}
