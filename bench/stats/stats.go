// Package stats is the statistics of the A/B runner: medians with distribution-free confidence intervals, the Mann-Whitney U test,
// and a verdict that may be "no verdict". It does for a pair of samples what benchstat does (whose package benchmath its tests were
// compared with); its own is the ratio with an interval, without which "no difference" cannot be told from "cannot see".
//
// It is no general statistics library.
//
// Sources: Mann and Whitney, "On a test of whether one of two random variables is stochastically larger than the other" (1947);
// Hodges and Lehmann, "Estimates of location based on rank tests" (1963); Holm, "A simple sequentially rejective multiple test
// procedure" (1979).
package stats

import (
	"math"
	"sort"
)

// Interval is an estimate with its confidence limits, which are infinite (NaN for an empty sample) where there are too few values.
type Interval struct {
	Center, Low, High float64
}

// Median gives the sample median and the narrowest symmetric pair of order statistics that covers the true median with at least the
// given confidence, whatever the distribution.
func Median(sample []float64, confidence float64) Interval {
	n := len(sample)
	if n == 0 {
		return Interval{math.NaN(), math.NaN(), math.NaN()}
	}
	x := sorted(sample)
	out := Interval{center(x), math.Inf(-1), math.Inf(1)}
	// the k-th smallest and largest miss the median with probability P(B < k) each, B binomial(n, 1/2)
	tail, k := 0.0, 0
	for tail+binomialHalf(n, k) <= (1-confidence)/2 {
		tail += binomialHalf(n, k)
		k++
	}
	if k > 0 {
		out.Low, out.High = x[k-1], x[n-k]
	}
	return out
}

func sorted(v []float64) []float64 {
	x := append([]float64(nil), v...)
	sort.Float64s(x)
	return x
}

// center is the median of a sorted sample that is not empty.
func center(x []float64) float64 {
	n := len(x)
	if n%2 == 1 {
		return x[n/2]
	}
	return x[n/2-1]/2 + x[n/2]/2
}

// binomialHalf is the probability of k heads in n throws.
func binomialHalf(n, k int) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return math.Exp(a - b - c - float64(n)*math.Ln2)
}

// exactLimit is the number of values, both samples together, up to which the distribution of U is counted out.
const exactLimit = 80

// MannWhitney is the two-sided p-value of the hypothesis that x and y come from one distribution. It is exact, ties considered,
// for up to 80 values, and the normal approximation with corrections for ties and continuity beyond. An empty sample gives 1.
func MannWhitney(x, y []float64) float64 {
	if len(x) == 0 || len(y) == 0 {
		return 1
	}
	ranks, ties := doubledRanks(x, y)
	sum := 0
	for _, r := range ranks[:len(x)] {
		sum += r
	}
	if len(ranks) <= exactLimit {
		low, high := rankSumTails(ranks, len(x), sum)
		return math.Min(1, 2*math.Min(low, high))
	}
	n, m := float64(len(x)), float64(len(y))
	u := float64(sum)/2 - n*(n+1)/2
	variance := n * m / 12 * (n + m + 1 - ties/((n+m)*(n+m-1)))
	if variance <= 0 {
		return 1
	}
	z := math.Max(0, math.Abs(u-n*m/2)-0.5) / math.Sqrt(variance)
	return math.Min(1, math.Erfc(z/math.Sqrt2))
}

// doubledRanks gives twice the rank of each value among all, x first, equal values sharing the mean of their ranks; and the sum of
// t^3-t over groups of t equal values.
func doubledRanks(x, y []float64) (ranks []int, ties float64) {
	type val struct {
		v  float64
		at int
	}
	all := make([]val, 0, len(x)+len(y))
	for _, v := range append(append([]float64(nil), x...), y...) {
		all = append(all, val{v, len(all)})
	}
	sort.Slice(all, func(i, j int) bool { return all[i].v < all[j].v })
	ranks = make([]int, len(all))
	for i := 0; i < len(all); {
		j := i
		for j < len(all) && all[j].v == all[i].v {
			j++
		}
		for _, a := range all[i:j] {
			ranks[a.at] = i + j + 1 // twice the mean of i+1..j
		}
		t := float64(j - i)
		ties += t*t*t - t
		i = j
	}
	return ranks, ties
}

// rankSumTails gives the probabilities that n ranks drawn at random sum up to at most, and at least, sum.
func rankSumTails(ranks []int, n, sum int) (low, high float64) {
	total := 0
	for _, r := range ranks {
		total += r
	}
	// ways[k][s]: subsets of k ranks with sum s, scaled by the caller's division
	ways := make([][]float64, n+1)
	for k := range ways {
		ways[k] = make([]float64, total+1)
	}
	ways[0][0] = 1
	for i, r := range ranks {
		for k := min(i+1, n); k > 0; k-- {
			to, from := ways[k], ways[k-1]
			for s := total; s >= r; s-- {
				to[s] += from[s-r]
			}
		}
	}
	all := 0.0
	for s, w := range ways[n] {
		all += w
		if s <= sum {
			low += w
		}
		if s >= sum {
			high += w
		}
	}
	return low / all, high / all
}

// leastValue stands for smaller values where a logarithm is taken: a phase that took no time at all.
const leastValue = 1e-12

// Ratio estimates by what factor y's values differ from x's: the Hodges-Lehmann estimate on logarithms, with the interval that
// belongs to the U test. Too few values give an infinite interval; values are positive, smaller ones than 1e-12 count as that.
func Ratio(x, y []float64, confidence float64) Interval {
	n, m := len(x), len(y)
	if n == 0 || m == 0 {
		return Interval{math.NaN(), math.NaN(), math.NaN()}
	}
	d := make([]float64, 0, n*m)
	for _, a := range x {
		for _, b := range y {
			d = append(d, math.Log(max(b, leastValue))-math.Log(max(a, leastValue)))
		}
	}
	sort.Float64s(d)
	out := Interval{math.Exp(center(d)), 0, math.Inf(1)}
	if k := cutoff(n, m, (1-confidence)/2); k > 0 {
		out.Low, out.High = math.Exp(d[k-1]), math.Exp(d[n*m-k])
	}
	return out
}

// cutoff is the largest k with P(U < k) <= tail, U without ties.
func cutoff(n, m int, tail float64) int {
	if n+m > exactLimit {
		f, g := float64(n), float64(m)
		z := math.Sqrt2 * math.Erfinv(2*tail-1)
		return max(0, int(f*g/2+z*math.Sqrt(f*g*(f+g+1)/12)))
	}
	// count[u]: arrangements with U = u, by the recursion over Gaussian binomials
	size := n*m + 1
	count := make([]float64, size)
	count[0] = 1
	for i := 1; i <= n; i++ {
		for u := size - 1; u >= m+i; u-- {
			count[u] -= count[u-m-i]
		}
		for u := i; u < size; u++ {
			count[u] += count[u-i]
		}
	}
	all := 0.0
	for _, c := range count {
		all += c
	}
	k, sum := 0, 0.0
	for k < size && (sum+count[k])/all <= tail {
		sum += count[k]
		k++
	}
	return k
}

// Holm adjusts p-values for the number of questions asked at once. The results are in the order of the input, at most 1.
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	sort.Slice(order, func(a, b int) bool { return p[order[a]] < p[order[b]] })
	out := make([]float64, len(p))
	last := 0.0
	for i, at := range order {
		last = math.Max(last, math.Min(1, p[at]*float64(len(p)-i)))
		out[at] = last
	}
	return out
}
