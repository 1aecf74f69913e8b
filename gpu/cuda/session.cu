#include "session.cuh"

#include <algorithm>
#include <cstring>

#include "workspace.cuh"

namespace fg {

namespace {

constexpr size_t STAGE_BYTES = 32 << 20;

// Bit i of the output is the witness bit at[i]; a thread makes a word.
__global__ void gather_bits(uint32_t* out, const uint32_t* bits, const uint32_t* at, size_t n) {
  const size_t w = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (w * 32 >= (n + 63) / 64 * 64) return;
  uint32_t r = 0;
  for (int i = 0; i < 32; i++) {
    const size_t k = w * 32 + i;
    if (k >= n) break;
    const uint32_t v = at[k];
    r |= ((bits[v >> 5] >> (v & 31)) & 1) << i;
  }
  out[w] = r;
}

__global__ void gather_values(Fr* out, const Fr* values, const uint32_t* at, size_t n) {
  const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) out[i] = values[at[i]];
}

// Values [first, first + n) of a vector in bit-reversed order of 2^log_m.
__global__ void scatter_reversed(Fr* out, const Fr* in, uint32_t first, uint32_t n, int log_m) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[log_m ? __brev(first + i) >> (32 - log_m) : 0] = in[i];
}

__global__ void gather_reversed(Fr* out, const Fr* in, uint32_t first, uint32_t n, int log_m) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[log_m ? __brev(first + i) >> (32 - log_m) : 0];
}

// Arena of a sum over variables.
struct SumArrays {
  uint32_t* bits;
  Fr* scalars;
  size_t fixed;
  SumArrays(void* base, size_t bit_count, size_t tail_count) {
    Carver c(base);
    bits = c.take<uint32_t>((bit_count + 63) / 64 * 2);
    scalars = c.take<Fr>(tail_count);
    fixed = c.bytes();
  }
};

template <class F>
uint64_t variables_arena(size_t bit_count, size_t tail_count, int window, uint64_t budget) {
  const size_t fixed = SumArrays(nullptr, bit_count, tail_count).fixed;
  MsmConfig cfg;
  cfg.window = window;
  cfg.budget = budget;
  uint64_t work = 0;
  if (bit_count) work = bitsum_plan<F>(bit_count, budget).bytes;
  if (tail_count) work = std::max<uint64_t>(work, msm_plan<F>(tail_count, cfg).bytes);
  return fixed + work;
}

uint64_t point_bytes(int section) { return section == SECTION_B2 ? sizeof(G2Affine) : sizeof(G1Affine); }

// The witness.
uint64_t bytes_of_circuit(const SessionConfig& c) {
  return (uint64_t(c.shape.aux) + 63) / 64 * 8 + 8 + 32 * (uint64_t(c.shape.inputs) + c.fields) + 512;
}

// Bytes of the largest range that is staged.
uint64_t largest_range(const SessionConfig& c) {
  uint64_t n = 0;
  for (int s = 0; s < SECTIONS; s++) n = std::max(n, point_bytes(s) * std::min(c.counts[s], c.chunks[s]));
  return n;
}

// Vectors that the quotient needs besides its own place.
uint64_t quotient_scratch(const SessionConfig& c) {
  return (c.low_memory ? Quotient::STEP_BUFFERS : Quotient::BUFFERS) - 1;
}

}  // namespace

SessionBytes Session::bytes(const SessionConfig& c, uint64_t available) {
  SessionBytes b;
  const uint64_t m = uint64_t(1) << c.log_m;
  if (c.has_system) b.held += DeviceSystem::bytes_for(c.shape);
  b.held += Quotient::small_table_bytes(c.log_m);
  if (!c.resident) b.held += 2 * largest_range(c);
  for (int s = 0; s < SECTIONS; s++) {
    if (c.resident) b.held += point_bytes(s) * c.counts[s];
    if (s != SECTION_H) b.held += c.counts[s] / 4 + 64;                   // mask and ranks
    if (s != SECTION_H && s != SECTION_B2) b.held += c.counts[s] * 4 + 64;  // index lists
  }
  b.held += STAGE_BYTES + (64 << 10);
  b.circuit = bytes_of_circuit(c);
  const uint64_t h = c.quotients * 32 * m, quotient = h + quotient_scratch(c) * 32 * m;
  uint64_t want = quotient, least = quotient;
  auto largest = [&](int s) { return c.resident ? c.counts[s] : std::min(c.counts[s], c.chunks[s]); };
  if (largest(SECTION_H)) {
    MsmConfig cfg;
    cfg.window = c.windows[SECTION_H];
    want = std::max<uint64_t>(want, h + msm_plan<Fp>(largest(SECTION_H), cfg).bytes);
  }
  for (int s = SECTION_L; s < SECTIONS; s++) {
    const uint64_t n = largest(s), tails = std::min(n, c.tails[s]), bits = std::min(n, c.counts[s] - c.tails[s]);
    want = std::max(want, s == SECTION_B2 ? variables_arena<Fp2>(bits, tails, c.windows[s], 0)
                                          : variables_arena<Fp>(bits, tails, c.windows[s], 0));
    least = std::max(least, SumArrays(nullptr, bits, tails).fixed + (64 << 20));
  }
  b.least_arena = std::min(want, std::max(least, h + (64 << 20)));
  b.arena = std::max(b.least_arena, std::min(want, available));
  return b;
}

Session::Session(fg_device* d, const SessionConfig& cfg)
    : d_(d), cfg_(cfg), m_(size_t(1) << cfg.log_m), staging_(cfg.key_memory, cfg.ring_piece, cfg.ring_pieces) {
  if (cfg.log_m < 0 || cfg.log_m > NTT_MAX_LOG) FG_FAIL(E_ARGUMENT, "a domain of 2^%d points", cfg.log_m);
  if (cfg.counts[SECTION_H] + 1 < m_) FG_FAIL(E_ARGUMENT, "section h has %llu points for a domain of %zu", (unsigned long long)cfg.counts[SECTION_H], m_);
  for (int s = 0; s < SECTIONS; s++)
    if (cfg.tails[s] > cfg.counts[s]) FG_FAIL(E_ARGUMENT, "section %d has more tail than points", s);
  if (cfg.quotients < 1 || cfg.quotients > 64 || cfg.slots < 1 || cfg.slots > 1 << 16)
    FG_FAIL(E_ARGUMENT, "%llu slots, %llu quotients", (unsigned long long)cfg.slots, (unsigned long long)cfg.quotients);
  if (cfg.witness_memory != cfg.key_memory) witness_staging_ = std::make_unique<Staging>(cfg.witness_memory, cfg.ring_piece, cfg.ring_pieces);
  witness_memory().reserve(std::max<size_t>((size_t(cfg.shape.aux) + 63) / 64 * 8, size_t(cfg.fields) * sizeof(Fr)));
  SessionBytes b = bytes(cfg, d->available());
  const uint64_t fixed = b.held + b.circuit * cfg.slots;
  d->require(fixed + b.least_arena, "the session");
  b = bytes(cfg, d->available() - fixed);
  arena_ = wanted_arena_ = b.arena;
  least_arena_ = b.least_arena;
  raw_.alloc(STAGE_BYTES);
  if (!cfg.resident) {
    points_[0].alloc(largest_range(cfg));
    next_.alloc(largest_range(cfg));
  }
  fault_ = std::make_unique<PointFault>(d->main);
  circuits_.resize(cfg.slots);
  for (Circuit& c : circuits_) {
    c.bits.alloc((size_t(cfg.shape.aux) + 63) / 64 + 1);
    c.values.alloc(size_t(cfg.shape.inputs) + cfg.fields);
  }
  split_[SECTION_H] = SectionSplit(cfg.counts[SECTION_H], nullptr, d->main);
}

void Session::set_section(int section, const uint64_t* tail_mask, const uint32_t* bit_at, const uint32_t* value_at) {
  if (section <= SECTION_H || section >= SECTIONS) FG_FAIL(E_ARGUMENT, "section %d", section);
  const uint64_t count = cfg_.counts[section], tails = cfg_.tails[section];
  split_[section] = SectionSplit(count, tail_mask, d_->main);
  if (split_[section].tails() != tails)
    FG_FAIL(E_ARGUMENT, "section %d: %zu points of the mask are tail, %llu announced", section, split_[section].tails(), (unsigned long long)tails);
  if (section == SECTION_B2) return;
  const uint64_t values = uint64_t(cfg_.shape.inputs) + cfg_.fields;
  for (uint64_t i = 0; i < count - tails; i++)
    if (bit_at[i] >= cfg_.shape.aux) FG_FAIL(E_ARGUMENT, "section %d: bit %llu is variable %u", section, (unsigned long long)i, bit_at[i]);
  for (uint64_t i = 0; i < tails; i++)
    if (value_at[i] >= values) FG_FAIL(E_ARGUMENT, "section %d: tail %llu is value %u", section, (unsigned long long)i, value_at[i]);
  SectionVariables& v = vars_[section];
  DrainOnExit drain(d_->main);
  v.bit_at.alloc(count - tails);
  v.value_at.alloc(tails);
  staging_.copy(v.bit_at.get(), bit_at, v.bit_at.bytes(), d_->main);
  staging_.copy(v.value_at.get(), value_at, v.value_at.bytes(), d_->main);
}

template <class F>
void Session::load_points(int section, StagedPoints<F>& p, size_t first, size_t n, const unsigned char* raw, PointCheck check,
                          const Cancel& cancel) {
  const SectionSplit& split = split_[section];
  Buffer<unsigned char>& buffer = points_[section];
  if (buffer.size() == 0 && split.count()) {
    d_->require(split.count() * sizeof(Affine<F>), "a section of the key");
    buffer.alloc(split.count() * sizeof(Affine<F>));
  }
  p.bits = reinterpret_cast<Affine<F>*>(buffer.get());
  p.tail = p.bits + split.bits();
  p.bit_count = split.bits();
  p.tail_count = split.tails();
  if (first == 0) fault_->reset(d_->main);
  const size_t point = sizeof(Affine<F>), step = STAGE_BYTES / point;
  for (size_t i = 0; i < n; i += step) {
    cancel.check();
    const size_t k = std::min(step, n - i);
    staging_.copy(raw_.get(), raw + i * point, k * point, d_->main, cancel);
    convert_points<F>(raw_.get(), first + i, k, split, p.bits, 0, p.tail, 0, check, *fault_, d_->main);
  }
  // Once a section, so that sending goes on while points are converted.
  if (first + n == split.count()) fault_->check(d_->main);
}

void Session::load(int section, size_t first, size_t n, const unsigned char* raw, PointCheck check, const Cancel& cancel) {
  check_range(section, first, n);
  if (!cfg_.resident) FG_FAIL(E_ARGUMENT, "a streamed key is fetched and staged");
  if (section == SECTION_B2)
    load_points<Fp2>(section, g2_, first, n, raw, check, cancel);
  else
    load_points<Fp>(section, g1_[section], first, n, raw, check, cancel);
}

void Session::check_range(int section, size_t first, size_t n) const {
  if (section < 0 || section >= SECTIONS) FG_FAIL(E_ARGUMENT, "section %d", section);
  const size_t count = split_[section].count();
  if (first + n < first || first + n > count) FG_FAIL(E_ARGUMENT, "points [%zu, %zu) of %zu", first, first + n, count);
}

void Session::fetch(int section, size_t range, size_t first, size_t n, const unsigned char* raw, const Cancel& cancel) {
  check_range(section, first, n);
  if (cfg_.resident || first < range || first - range + n > cfg_.chunks[section])
    FG_FAIL(E_ARGUMENT, "points [%zu, %zu) of a range from %zu on are fetched, of %llu at most", first, first + n, range,
            (unsigned long long)cfg_.chunks[section]);
  if (first == range) {
    next_section_ = section;
    next_first_ = first;
    next_count_ = 0;
  } else if (next_section_ != section || next_first_ != range || range + next_count_ != first) {
    FG_FAIL(E_ARGUMENT, "a range of section %d is fetched out of order", section);
  }
  const size_t point = point_bytes(section);
  staging_.copy(next_.get() + (first - range) * point, raw, n * point, copy_, cancel);
  fetched_.record(copy_);
  next_count_ += n;
}

template <class F>
void Session::stage_points(StagedPoints<F>& p, PointCheck check) {
  const SectionSplit& split = split_[next_section_];
  const size_t first = next_first_, n = next_count_;
  p.tail_first = split.tails_before(first);
  p.tail_count = split.tails_before(first + n) - p.tail_first;
  p.bit_first = first - p.tail_first;
  p.bit_count = n - p.tail_count;
  p.bits = reinterpret_cast<Affine<F>*>(points_[0].get());
  p.tail = p.bits + p.bit_count;
  DrainOnExit drain(d_->main);
  fault_->reset(d_->main);
  fetched_.gate(d_->main);
  convert_points<F>(next_.get(), first, n, split, p.bits, p.bit_first, p.tail, p.tail_first, check, *fault_, d_->main);
  fault_->check(d_->main);
}

void Session::stage(PointCheck check) {
  if (next_section_ < 0) FG_FAIL(E_ARGUMENT, "no range was fetched");
  staged_ = -1;  // until they are all there
  if (next_section_ == SECTION_B2)
    stage_points<Fp2>(g2_, check);
  else
    stage_points<Fp>(g1_[next_section_], check);
  staged_ = next_section_;
  next_section_ = -1;
}

Session::Circuit& Session::circuit(size_t slot) {
  if (slot >= circuits_.size()) FG_FAIL(E_ARGUMENT, "circuit %zu of %zu", slot, circuits_.size());
  return circuits_[slot];
}

// The arena is taken here: to make room later could take it away under the call's stages.
void Session::begin() {
  // Less than was planned, if another session has come since.
  arena_ = std::max(least_arena_, std::min(wanted_arena_, d_->available()));
  arena();
}

void Session::witness(size_t slot, const uint64_t* bits, const Fr* inputs, const Fr* fields, const Cancel& cancel) {
  Circuit& c = circuit(slot);
  for (auto& g : c.g1) g = XYZZ<Fp>::inf();
  c.g2 = XYZZ<Fp2>::inf();
  Staging& staging = witness_memory();
  DrainOnExit drain(copy_);
  staging.copy(c.bits.get(), bits, (size_t(cfg_.shape.aux) + 63) / 64 * 8, copy_, cancel);
  staging.copy(c.values.get(), inputs, size_t(cfg_.shape.inputs) * sizeof(Fr), copy_, cancel);
  staging.copy(c.values.get() + cfg_.shape.inputs, fields, cfg_.fields * sizeof(Fr), copy_, cancel);
  copy_.sync();
}

// Where the values of a matrix belong.
Fr* Session::evaluated(size_t at, int matrix) const {
  if (at >= cfg_.quotients) FG_FAIL(E_ARGUMENT, "quotient %zu of %llu", at, (unsigned long long)cfg_.quotients);
  if (matrix < 0 || matrix > 2) FG_FAIL(E_ARGUMENT, "matrix %d", matrix);
  if (matrix == 0) return vector(at);
  return vector(cfg_.quotients + (cfg_.low_memory ? 0 : matrix - 1));
}

void Session::evaluate(size_t slot, size_t at, int matrix) {
  if (!system_) FG_FAIL(E_ARGUMENT, "the session has no constraint system");
  if (cfg_.low_memory == (matrix == ALL)) FG_FAIL(E_ARGUMENT, "evaluation of matrix %d", matrix);
  Circuit& c = circuit(slot);
  const DeviceWitness w{c.bits.get(), c.values.get()};
  if (cfg_.low_memory)
    system_->evaluate_reversed(w, matrix, evaluated(at, matrix), cfg_.log_m, d_->main);
  else
    system_->evaluate(w, evaluated(at, 0), evaluated(at, 1), evaluated(at, 2), m_, d_->main);
  d_->main.sync();
}

void Session::evaluations(size_t at, int matrix, const Fr* in, size_t rows, const Cancel& cancel) {
  if (rows > m_) FG_FAIL(E_ARGUMENT, "%zu rows in a domain of %zu", rows, m_);
  Fr* v = evaluated(at, matrix);
  Staging& staging = witness_memory();
  DrainOnExit drain(d_->main);
  if (!cfg_.low_memory) {
    staging.copy(v, in, rows * sizeof(Fr), d_->main, cancel);
    clear(v + rows, m_ - rows, d_->main);
    d_->main.sync();
    return;
  }
  clear(v, m_, d_->main);
  Fr* piece = reinterpret_cast<Fr*>(raw_.get());
  for (size_t i = 0; i < rows; i += STAGE_BYTES / sizeof(Fr)) {
    const size_t n = std::min(STAGE_BYTES / sizeof(Fr), rows - i);
    staging.copy(piece, in + i, n * sizeof(Fr), d_->main, cancel);
    scatter_reversed<<<blocks_for(n, 256), 256, 0, d_->main>>>(v, piece, uint32_t(i), uint32_t(n), cfg_.log_m);
    FG_LAUNCHED();
  }
  d_->main.sync();
}

void Session::rows(size_t at, int matrix, Fr* out, size_t rows) {
  if (rows > m_) FG_FAIL(E_ARGUMENT, "%zu rows of a domain of %zu", rows, m_);
  const Fr* v = evaluated(at, matrix);
  DrainOnExit drain(d_->main);
  if (!cfg_.low_memory) {
    download(out, v, rows, d_->main);
    d_->main.sync();
    return;
  }
  Fr* piece = reinterpret_cast<Fr*>(raw_.get());
  for (size_t i = 0; i < rows; i += STAGE_BYTES / sizeof(Fr)) {
    const size_t n = std::min(STAGE_BYTES / sizeof(Fr), rows - i);
    gather_reversed<<<blocks_for(n, 256), 256, 0, d_->main>>>(piece, v, uint32_t(i), uint32_t(n), cfg_.log_m);
    FG_LAUNCHED();
    download(out + i, piece, n, d_->main);
  }
  d_->main.sync();
}

void Session::quotient(size_t at, int step, const Cancel& cancel) {
  if (cfg_.low_memory == (step == ALL)) FG_FAIL(E_ARGUMENT, "step %d of a quotient", step);
  Fr* h = evaluated(at, 0);  // first: it may drop tables
  Fr* more = vector(cfg_.quotients);
  const Quotient& q = d_->quotient(cfg_.log_m);
  DrainOnExit drain(d_->main);
  if (cfg_.low_memory) {
    if (step < 0 || step > 2) FG_FAIL(E_ARGUMENT, "step %d of a quotient", step);
    q.step(step, h, more, d_->main, cancel);
  } else {
    Fr* vectors[4] = {h, more, more + m_, more + 2 * m_};
    if (int i = q.run(vectors, d_->main, cancel)) FG_FAIL(E_INTERNAL, "the quotient is in vector %d", i);
  }
  d_->main.sync();
}

void Session::coefficients(size_t at, Fr* h, size_t n) {
  if (n > m_) FG_FAIL(E_ARGUMENT, "%zu coefficients of a domain of %zu", n, m_);
  const Fr* v = evaluated(at, 0);
  DrainOnExit drain(d_->main);
  download(h, v, n, d_->main);
  d_->main.sync();
}

// The h query may hold a point more than the quotient has coefficients that count: the last coefficient is left out.
void Session::sum_quotient(Circuit& c, size_t at, const Cancel& cancel) {
  const StagedPoints<Fp>& p = g1_[SECTION_H];
  if (p.tail_first >= m_ - 1) return;
  const size_t n = std::min(p.tail_count, m_ - 1 - p.tail_first);
  if (n == 0) return;
  const Fr* h = evaluated(at, 0);
  const uint64_t used = cfg_.quotients * 32 * uint64_t(m_);
  MsmConfig cfg;
  cfg.window = cfg_.windows[SECTION_H];
  cfg.budget = arena_ - used;
  const MsmPlan plan = msm_plan<Fp>(n, cfg);
  DrainOnExit drain(d_->main);
  c.g1[SECTION_H].add(msm_run<Fp>(plan, d_->msm, p.tail, h + p.tail_first, n, arena() + used, d_->main, cancel));
}

template <class F>
void Session::sum_variables(int section, const StagedPoints<F>& p, const Circuit& c, XYZZ<F>& acc, const Cancel& cancel) {
  const SectionVariables& v = variables(section);
  unsigned char* base = arena();
  const SumArrays a(base, p.bit_count, p.tail_count);
  if (a.fixed >= arena_) FG_FAIL(E_MEMORY, "the arena of %llu bytes does not hold the scalars", (unsigned long long)arena_);
  DrainOnExit drain(d_->main);
  if (p.bit_count) {
    const BitSumPlan plan = bitsum_plan<F>(p.bit_count, arena_ - a.fixed);
    const size_t words = (p.bit_count + 63) / 64 * 2;
    gather_bits<<<blocks_for(words, 256), 256, 0, d_->main>>>(a.bits, reinterpret_cast<const uint32_t*>(c.bits.get()),
                                                             v.bit_at.get() + p.bit_first, p.bit_count);
    FG_LAUNCHED();
    acc.add(bitsum_run<F>(plan, d_->msm, p.bits, reinterpret_cast<const uint64_t*>(a.bits), p.bit_count, base + a.fixed,
                          d_->main, cancel));
  }
  if (p.tail_count) {
    MsmConfig cfg;
    cfg.window = cfg_.windows[section];
    cfg.budget = arena_ - a.fixed;
    const MsmPlan plan = msm_plan<F>(p.tail_count, cfg);
    gather_values<<<blocks_for(p.tail_count, 256), 256, 0, d_->main>>>(a.scalars, c.values.get(), v.value_at.get() + p.tail_first,
                                                                      p.tail_count);
    FG_LAUNCHED();
    acc.add(msm_run<F>(plan, d_->msm, p.tail, a.scalars, p.tail_count, base + a.fixed, d_->main, cancel));
  }
}

void Session::sum(int section, size_t slot, size_t at, const Cancel& cancel) {
  Circuit& c = circuit(slot);
  if (!cfg_.resident && staged_ != section) FG_FAIL(E_ARGUMENT, "section %d is to be summed, section %d is staged", section, staged_);
  if (section == SECTION_H)
    sum_quotient(c, at, cancel);
  else if (section == SECTION_B2)
    sum_variables<Fp2>(section, g2_, c, c.g2, cancel);
  else if (section > SECTION_H && section < SECTION_B2)
    sum_variables<Fp>(section, g1_[section], c, c.g1[section], cancel);
  else
    FG_FAIL(E_ARGUMENT, "section %d", section);
}

void Session::take(size_t slot, G1Jacobian g1[4], G2Jacobian* g2) {
  Circuit& c = circuit(slot);
  for (int i = 0; i < 4; i++) g1[i] = c.g1[i].to_jacobian();
  *g2 = c.g2.to_jacobian();
}

}  // namespace fg
