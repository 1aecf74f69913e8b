#include "eval.cuh"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "ntt_field.cuh"

namespace fg {

namespace {

// A term is a column with its kind in the two top bits, and below (in the high word) a small integer or the number of a
// coefficient.
enum Kind : uint32_t { BIT_SMALL = 0, BIT_COEF = 1, FIELD_ONE = 2, FIELD_COEF = 3 };
constexpr uint32_t COL_MASK = 0x3fffffff;
constexpr uint32_t INPUT_FLAG = 0x80000000;  // of a wire: a public input
constexpr int EVAL_THREADS = 256;
constexpr uint32_t ORDER_WINDOW = 1024;  // rows change places within so many only, so that outputs stay close
constexpr int SMALL_LIMIT = 1 << 16;
constexpr int SMALL_VALUES = 512;  // integers of at most this magnitude have their field elements in a table

int32_t small_integer(const Fr& c) {
  for (int sign : {1, -1}) {
    Fr n = (sign > 0 ? c : c.neg()).from_mont();
    uint32_t high = 0;
    for (int i = 1; i < 8; i++) high |= n.v[i];
    if (!high && n.v[0] < uint32_t(SMALL_LIMIT)) return sign * int32_t(n.v[0]);
  }
  return 0;
}

}  // namespace

struct EvalArgs {
  const DeviceSystem::Template* templates;
  const Instance* instances;
  const uint32_t *wires, *first, *order, *bools, *rank;
  const Fr *coeffs, *small_values;
  const uint64_t *pointers, *terms;
  uint32_t count, rows, inputs;
  const uint32_t* bits;
  const Fr* values;
  Fr* out[3];
  size_t m;

  static EvalArgs of(const DeviceSystem& s) {
    EvalArgs a{};
    a.templates = s.templates_.get();
    a.instances = s.instances_.get();
    a.wires = s.wires_.get();
    a.first = s.first_.get();
    a.order = s.order_.get();
    a.bools = s.bools_.get();
    a.rank = s.rank_.get();
    a.coeffs = s.coeffs_.get();
    a.small_values = s.small_values_.get();
    a.pointers = s.pointers_.get();
    a.terms = s.terms_.get();
    a.count = s.shape_.instances;
    a.rows = s.shape_.rows;
    a.inputs = s.shape_.inputs;
    return a;
  }
};

namespace {

// A row's instance and template.
struct Place {
  const uint32_t* wires;  // of the instance
  uint32_t aux, wire_count;
  uint32_t row;       // in the template
  uint32_t first;     // the instance's first row
  const uint64_t* ptr[3];
};

// The row that a thread evaluates: threads follow the template's order of rows, so that those of a warp are alike.
__device__ Place find_row(const EvalArgs& a, uint32_t row) {
  uint32_t lo = a.first[row / EVAL_THREADS], hi = a.first[row / EVAL_THREADS + 1];
  while (lo < hi) {  // the last instance that starts at or before the row
    uint32_t mid = lo + (hi - lo + 1) / 2;
    if (a.instances[mid].row <= row)
      lo = mid;
    else
      hi = mid - 1;
  }
  const Instance in = a.instances[lo];
  const auto& t = a.templates[in.tmpl];
  Place p;
  p.wires = a.wires + in.wire;
  p.aux = in.aux;
  p.wire_count = t.wires;
  p.row = a.order[t.order + (row - in.row)];
  p.first = in.row;
  for (int k = 0; k < 3; k++) p.ptr[k] = a.pointers + t.ptr[k];
  return p;
}

// The variable of a local column other than 0: an aux index, or an input with the flag.
__device__ __forceinline__ uint32_t variable(const Place& p, uint32_t col) {
  return col <= p.wire_count ? p.wires[col - 1] : p.aux + (col - 1 - p.wire_count);
}

__device__ __forceinline__ bool bit_of(const EvalArgs& a, const Place& p, uint32_t col) {
  if (col == 0) return true;
  uint32_t v = variable(p, col);
  return (a.bits[v >> 5] >> (v & 31)) & 1;
}

__device__ __forceinline__ Fr value_of(const EvalArgs& a, const Place& p, uint32_t col) {
  if (col == 0) return a.values[0];
  uint32_t v = variable(p, col);
  if (v & INPUT_FLAG) return a.values[v & ~INPUT_FLAG];
  uint32_t w = v >> 5, before = ~a.bools[w] & ((1u << (v & 31)) - 1);
  return a.values[a.inputs + a.rank[w] + __popc(before)];
}

__device__ Fr integer_value(const EvalArgs& a, long long n) {
  if (n >= -SMALL_VALUES && n <= SMALL_VALUES) return a.small_values[n + SMALL_VALUES];
  Fr r = Fr::from_u64(uint64_t(n < 0 ? -n : n));
  return n < 0 ? r.neg() : r;
}

__device__ Fr row_value(const EvalArgs& a, const Place& p, int k) {
  const uint64_t begin = p.ptr[k][p.row], end = p.ptr[k][p.row + 1];
  long long small = 0;
  Fr sum = Fr::zero();
  bool any = false;
  for (uint64_t j = begin; j < end; j++) {
    const uint64_t term = a.terms[j];
    const uint32_t col = uint32_t(term) & COL_MASK, kind = uint32_t(term) >> 30, c = uint32_t(term >> 32);
    if (kind == BIT_SMALL) {
      small += bit_of(a, p, col) ? int32_t(c) : 0;
      continue;
    }
    if (kind == BIT_COEF && !bit_of(a, p, col)) continue;
    Fr v = kind == BIT_COEF ? a.coeffs[c] : value_of(a, p, col);
    if (kind == FIELD_COEF) v = lazy::mul_exact(v, a.coeffs[c]);
    sum = any ? sum + v : v;
    any = true;
  }
  if (!any) return integer_value(a, small);
  return small ? sum + integer_value(a, small) : sum;
}

__global__ void __launch_bounds__(EVAL_THREADS) eval_kernel(const EvalArgs a) {
  const size_t row = size_t(blockIdx.x) * EVAL_THREADS + threadIdx.x;
  if (row >= a.m) return;
  if (row >= a.rows) {
    const size_t i = row - a.rows;
    a.out[0][row] = i < a.inputs ? a.values[i] : Fr::zero();
    a.out[1][row] = Fr::zero();
    a.out[2][row] = Fr::zero();
    return;
  }
  const Place p = find_row(a, uint32_t(row));
#pragma unroll 1
  for (int k = 0; k < 3; k++) a.out[k][p.first + p.row] = row_value(a, p, k);
}

// One matrix, in bit-reversed order of rows among 2^log_m.
__global__ void __launch_bounds__(EVAL_THREADS) eval_reversed_kernel(const EvalArgs a, int k, int log_m) {
  const size_t row = size_t(blockIdx.x) * EVAL_THREADS + threadIdx.x;
  if (row >= a.m) return;
  auto at = [&](uint32_t i) { return log_m ? __brev(i) >> (32 - log_m) : 0; };
  if (row >= a.rows) {
    const size_t i = row - a.rows;
    a.out[0][at(uint32_t(row))] = k == 0 && i < a.inputs ? a.values[i] : Fr::zero();
    return;
  }
  const Place p = find_row(a, uint32_t(row));
  a.out[0][at(p.first + p.row)] = row_value(a, p, k);
}

__global__ void fill_small(Fr* v) {
  int i = int(blockIdx.x * blockDim.x + threadIdx.x) - SMALL_VALUES;
  if (i > SMALL_VALUES) return;
  Fr r = Fr::from_u64(uint64_t(i < 0 ? -i : i));
  v[i + SMALL_VALUES] = i < 0 ? r.neg() : r;
}

}  // namespace

DeviceSystem::DeviceSystem(const SystemShape& shape, const Fr* coeffs, const uint64_t* bools, const uint32_t* wires,
                           const Instance* instances, cudaStream_t s)
    : shape_(shape), host_coeffs_(coeffs, coeffs + shape.coeffs) {
  if (shape.inputs == 0) FG_FAIL(E_ARGUMENT, "a system without the constant-one input");
  small_.resize(shape.coeffs);
  for (uint32_t i = 0; i < shape.coeffs; i++) small_[i] = small_integer(coeffs[i]);
  const uint32_t words = (shape.aux + 31) / 32;
  std::vector<uint32_t> mask(words + 1, 0), rank(words + 1, 0);
  std::memcpy(mask.data(), bools, size_t(words) * 4);
  if (shape.aux % 32) mask[words - 1] |= ~((1u << shape.aux % 32) - 1);  // what is past the end counts as bits
  for (uint32_t i = 0; i < words; i++) rank[i + 1] = rank[i] + uint32_t(__builtin_popcount(~mask[i]));
  fields_ = rank[words];
  for (uint32_t i = 0; i < shape.wires; i++) {
    const uint32_t v = wires[i] & ~INPUT_FLAG;
    if (v >= (wires[i] & INPUT_FLAG ? shape.inputs : shape.aux)) FG_FAIL(E_ARGUMENT, "wire %u names variable %08x", i, wires[i]);
  }
  host_instances_.assign(instances, instances + shape.instances);
  host_wires_.assign(wires, wires + shape.wires);
  host_bools_ = mask;
  DrainOnExit drain(s);  // host vectors above are uploaded from
  bools_.alloc(words + 1);
  rank_.alloc(words + 1);
  wires_.alloc(shape.wires);
  instances_.alloc(shape.instances);
  coeffs_.alloc(shape.coeffs);
  small_values_.alloc(2 * SMALL_VALUES + 1);
  templates_.alloc(shape.templates);
  pointers_.alloc(shape.pointers);
  order_.alloc(shape.pointers / 3);  // a row pointer more than rows in each template
  terms_.alloc(shape.terms);
  upload(bools_.get(), mask.data(), words + 1, s);
  upload(rank_.get(), rank.data(), words + 1, s);
  upload(wires_.get(), wires, shape.wires, s);
  upload(instances_.get(), instances, shape.instances, s);
  upload(coeffs_.get(), coeffs, shape.coeffs, s);
  fill_small<<<blocks_for(2 * SMALL_VALUES + 1, 256), 256, 0, s>>>(small_values_.get());
  FG_LAUNCHED();
  FG_CUDA(cudaStreamSynchronize(s));
}

void DeviceSystem::add_template(uint32_t wires, uint32_t locals, uint32_t rows, const uint64_t* bits,
                                const TemplateMatrix m[3], cudaStream_t s) {
  const size_t id = host_templates_.size();
  const uint64_t columns = 1 + uint64_t(wires) + locals;
  if (id >= shape_.templates) FG_FAIL(E_ARGUMENT, "template %zu of %u", id, shape_.templates);
  if (columns > COL_MASK) FG_FAIL(E_ARGUMENT, "template %zu has %llu columns", id, (unsigned long long)columns);
  Template t{wires, locals, rows, {}};
  std::vector<uint64_t> ptr, terms;
  constexpr size_t CHUNK = 1 << 20;
  for (int k = 0; k < 3; k++) {
    const uint64_t count = m[k].ptr[rows];
    if (pointers_used_ + rows + 1 > shape_.pointers || terms_used_ + count > shape_.terms)
      FG_FAIL(E_ARGUMENT, "template %zu has more rows or terms than were announced", id);
    t.ptr[k] = pointers_used_;
    for (uint64_t r = 0; r <= rows;) {
      ptr.clear();
      for (; r <= rows && ptr.size() < CHUNK; r++) {
        if (m[k].ptr[r] > count || (r && m[k].ptr[r] < m[k].ptr[r - 1])) FG_FAIL(E_ARGUMENT, "template %zu: row pointer %llu", id, (unsigned long long)r);
        ptr.push_back(terms_used_ + m[k].ptr[r]);
      }
      upload(pointers_.get() + pointers_used_, ptr.data(), ptr.size(), s);
      FG_CUDA(cudaStreamSynchronize(s));
      pointers_used_ += ptr.size();
    }
    for (uint64_t j = 0; j < count;) {
      terms.clear();
      for (; j < count && terms.size() < CHUNK; j++) {
        const uint32_t col = m[k].col[j], coef = m[k].coef[j];
        if (col >= columns || coef >= shape_.coeffs) FG_FAIL(E_ARGUMENT, "template %zu: term %llu", id, (unsigned long long)j);
        const bool bit = col == 0 || ((bits[(col - 1) >> 6] >> ((col - 1) & 63)) & 1);
        const bool one = coef == 0 && small_[0] == 1;
        const uint32_t kind = bit ? (small_[coef] ? BIT_SMALL : BIT_COEF) : (one ? FIELD_ONE : FIELD_COEF);
        const uint32_t c = kind == BIT_SMALL ? uint32_t(small_[coef]) : coef;
        terms.push_back(uint64_t(c) << 32 | kind << 30 | col);
      }
      upload(terms_.get() + terms_used_, terms.data(), terms.size(), s);
      FG_CUDA(cudaStreamSynchronize(s));
      terms_used_ += terms.size();
    }
  }
  add_order(t, m, s);
  host_templates_.push_back(t);
  host_bits_.emplace_back(bits, bits + (columns - 1 + 63) / 64);
}

// Rows in the order in which threads take them: within a window by the number of their terms, in A, B and C. A warp takes
// as long as its longest row, and a few rows have a hundred times the terms of their neighbours.
void DeviceSystem::add_order(Template& t, const TemplateMatrix m[3], cudaStream_t s) {
  t.order = order_used_;
  std::vector<uint32_t> order(t.rows);
  for (uint32_t i = 0; i < t.rows; i++) order[i] = i;
  auto length = [&](int k, uint32_t r) { return m[k].ptr[r + 1] - m[k].ptr[r]; };
  auto key = [&](uint32_t r) {
    const uint32_t a = length(0, r), b = length(1, r), c = length(2, r);
    return std::make_tuple(a + b + c, a, b);
  };
  for (uint32_t at = 0; at < t.rows; at += ORDER_WINDOW)
    std::stable_sort(order.begin() + at, order.begin() + std::min<uint64_t>(t.rows, uint64_t(at) + ORDER_WINDOW),
                     [&](uint32_t x, uint32_t y) { return key(x) < key(y); });
  if (order_used_ + t.rows > order_.size()) FG_FAIL(E_ARGUMENT, "more rows than row pointers were announced");
  upload(order_.get() + order_used_, order.data(), t.rows, s);
  FG_CUDA(cudaStreamSynchronize(s));
  order_used_ += t.rows;
}

// A column counts as a bit exactly if its variable does; kernels rely on it to stay within the witness.
void DeviceSystem::check_bits(const Instance& in, size_t at) const {
  const Template& t = host_templates_[in.tmpl];
  const std::vector<uint64_t>& bits = host_bits_[in.tmpl];
  auto column = [&](uint64_t i) { return (bits[i >> 6] >> (i & 63)) & 1; };
  auto variable = [&](uint64_t v) { return uint64_t((host_bools_[v >> 5] >> (v & 31)) & 1); };
  for (uint32_t i = 0; i < t.wires; i++) {
    const uint32_t v = host_wires_[in.wire + i];
    if (column(i) != (v & INPUT_FLAG ? 0 : variable(v))) FG_FAIL(E_ARGUMENT, "instance %zu: wire %u is a bit on one side only", at, i);
  }
  for (uint32_t i = 0; i < t.locals; i++)
    if (column(uint64_t(t.wires) + i) != variable(uint64_t(in.aux) + i))
      FG_FAIL(E_ARGUMENT, "instance %zu: local %u is a bit on one side only", at, i);
}

void DeviceSystem::finish(cudaStream_t s) {
  if (host_templates_.size() != shape_.templates)
    FG_FAIL(E_ARGUMENT, "%zu of %u templates were given", host_templates_.size(), shape_.templates);
  uint64_t row = 0;
  for (size_t i = 0; i < host_instances_.size(); i++) {
    const Instance& in = host_instances_[i];
    if (in.tmpl >= shape_.templates) FG_FAIL(E_ARGUMENT, "instance %zu is of template %u", i, in.tmpl);
    const Template& t = host_templates_[in.tmpl];
    if (in.row != row || uint64_t(in.aux) + t.locals > shape_.aux || uint64_t(in.wire) + t.wires > shape_.wires)
      FG_FAIL(E_ARGUMENT, "instance %zu does not fit the system", i);
    check_bits(in, i);
    row += t.rows;
  }
  if (row != shape_.rows) FG_FAIL(E_ARGUMENT, "instances have %llu rows, the system %u", (unsigned long long)row, shape_.rows);
  // For each block of rows the last instance that starts at or before its first row.
  std::vector<uint32_t> first;
  uint32_t at = 0;
  const uint32_t last = host_instances_.empty() ? 0 : uint32_t(host_instances_.size()) - 1;
  for (uint64_t r = 0; r < uint64_t(shape_.rows) + EVAL_THREADS; r += EVAL_THREADS) {
    while (at < last && host_instances_[at + 1].row <= r) at++;
    first.push_back(at);
  }
  first.push_back(last);
  first_.alloc(first.size());
  upload(first_.get(), first.data(), first.size(), s);
  upload(templates_.get(), host_templates_.data(), host_templates_.size(), s);
  FG_CUDA(cudaStreamSynchronize(s));
  host_instances_ = {};
  host_coeffs_ = {};
  host_bits_ = {};
  host_wires_ = {};
  host_bools_ = {};
}

EvalArgs DeviceSystem::args(const DeviceWitness& w, size_t m) const {
  if (m < size_t(shape_.rows) + shape_.inputs) FG_FAIL(E_ARGUMENT, "a domain of %zu points for %u rows", m, shape_.rows);
  EvalArgs args = EvalArgs::of(*this);
  args.bits = reinterpret_cast<const uint32_t*>(w.bits);
  args.values = w.values;
  args.m = m;
  return args;
}

void DeviceSystem::evaluate(const DeviceWitness& w, Fr* a, Fr* b, Fr* c, size_t m, cudaStream_t s) const {
  EvalArgs args = this->args(w, m);
  args.out[0] = a;
  args.out[1] = b;
  args.out[2] = c;
  eval_kernel<<<blocks_for(m, EVAL_THREADS), EVAL_THREADS, 0, s>>>(args);
  FG_LAUNCHED();
}

void DeviceSystem::evaluate_reversed(const DeviceWitness& w, int matrix, Fr* out, int log_m, cudaStream_t s) const {
  const size_t m = size_t(1) << log_m;
  EvalArgs args = this->args(w, m);
  args.out[0] = out;
  eval_reversed_kernel<<<blocks_for(m, EVAL_THREADS), EVAL_THREADS, 0, s>>>(args, matrix, log_m);
  FG_LAUNCHED();
}

size_t DeviceSystem::bytes() const { return bytes_for(shape_); }

uint64_t DeviceSystem::bytes_for(const SystemShape& s) {
  uint64_t words = (uint64_t(s.aux) + 31) / 32 + 1;
  return words * 8 + uint64_t(s.wires) * 4 + uint64_t(s.instances) * sizeof(Instance) + uint64_t(s.coeffs) * sizeof(Fr) +
         uint64_t(s.templates) * sizeof(Template) + (s.pointers + s.terms) * 8 + s.pointers / 3 * 4 + uint64_t(s.rows) / EVAL_THREADS * 4 +
         (2 * SMALL_VALUES + 1) * sizeof(Fr) + 64;
}

}  // namespace fg
