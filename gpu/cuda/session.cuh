// The sums of proofs on the device: one constraint system, one key, any number of circuits one after another.
//
// The caller drives the stages, each of which returns when it is done:
//
//   begin; for each circuit: witness, evaluate (or evaluations), quotient, sum H; for each section: sum; take
//
// With a resident key all points are on the device from the start. With a streamed key the caller fetches a range of a
// section, stages it, and sums it for every circuit before it stages the next one; sums add up. Fetching the next range
// may overlap in time with the sums over the present one, and so may witness for a slot that is not being summed: both
// work in a stream of their own and allocate no device memory.
#pragma once

#include <memory>
#include <vector>

#include "api.cuh"
#include "eval.cuh"
#include "keys.cuh"

namespace fg {

enum Section { SECTION_H, SECTION_L, SECTION_A, SECTION_B1, SECTION_B2, SECTIONS };

// Which variables multiply a section's points: bit_at[i] is the aux variable of the i-th point of bits, value_at[i] the
// value (inputs, then fields) of the i-th point of the tail. Section H has none of either: its points are multiplied by
// the quotient.
struct SectionVariables {
  Buffer<uint32_t> bit_at, value_at;
};

// A range of a section's points on the device: [bit_first, bit_first + bit_count) of those of bits, the tail likewise. The
// memory is the session's.
template <class F>
struct StagedPoints {
  Affine<F>*bits = nullptr, *tail = nullptr;
  size_t bit_first = 0, bit_count = 0, tail_first = 0, tail_count = 0;
};

struct SessionConfig {
  SystemShape shape;
  uint64_t fields = 0;             // aux variables that are not bits
  uint64_t counts[SECTIONS] = {};  // points of the key
  uint64_t tails[SECTIONS] = {};   // of which tail
  int log_m = 0;
  bool resident = true;
  bool low_memory = false;         // the quotient is made in two vectors, a matrix at a time, instead of four
  HostMemory key_memory = HostMemory::RING, witness_memory = HostMemory::RING;
  uint64_t ring_piece = 0, ring_pieces = 0;  // bytes and number; 0 = choose
  bool has_system = true;          // a, b, c are evaluated on the device
  uint64_t chunks[SECTIONS] = {};  // most points staged at a time, where the key is streamed
  int windows[SECTIONS] = {};
  uint64_t slots = 1;              // circuits whose witnesses are on the device at a time
  uint64_t quotients = 1;          // quotients that are kept for one pass over section H
};

// Bytes on the device, before anything is allocated. The arena is scratch memory that all work on the device shares.
struct SessionBytes {
  uint64_t held = 0;    // system, key or staged points, index lists
  uint64_t circuit = 0; // of each slot
  uint64_t arena = 0, least_arena = 0;
};

class Session {
 public:
  Session(fg_device* d, const SessionConfig& cfg);

  // available bounds the arena, which is at least least_arena.
  static SessionBytes bytes(const SessionConfig& cfg, uint64_t available);

  // Must be given, finished, before evaluate.
  void set_system(std::unique_ptr<DeviceSystem> s) { system_ = std::move(s); }
  DeviceSystem* system() const { return system_.get(); }
  // tail_mask, bit_at and value_at are host arrays; B2 shares the lists of B1 (given for B1 only).
  void set_section(int section, const uint64_t* tail_mask, const uint32_t* bit_at, const uint32_t* value_at);
  // The next n encoded points, from first on, of a section of a resident key, to their place. An invalid point is reported
  // with the section's last points.
  void load(int section, size_t first, size_t n, const unsigned char* raw, PointCheck check, const Cancel& cancel);
  // Encoded points of a streamed key, in file encoding to the device: the next n of the range that begins at range.
  void fetch(int section, size_t range, size_t first, size_t n, const unsigned char* raw, const Cancel& cancel);
  // Makes the fetched range the staged one; the next may be fetched then.
  void stage(PointCheck check);

  void begin();
  void witness(size_t slot, const uint64_t* bits, const Fr* inputs, const Fr* fields, const Cancel& cancel);
  // at is the place of the quotient that is being made. With low memory a matrix (0 a, 1 b, 2 c) and then the step of
  // the quotient of the same number, three times; else all of them (ALL), then ALL of the quotient.
  static constexpr int ALL = -1;
  void evaluate(size_t slot, size_t at, int matrix);
  void evaluations(size_t at, int matrix, const Fr* v, size_t rows, const Cancel& cancel);
  void quotient(size_t at, int step, const Cancel& cancel);
  // Adds the sum over the staged range of a section to the circuit's. H uses the quotient at the place given.
  void sum(int section, size_t slot, size_t at, const Cancel& cancel);
  void take(size_t slot, G1Jacobian g1[4], G2Jacobian* g2);
  // Row values (for tests): what evaluate left, before the quotient.
  void rows(size_t at, int matrix, Fr* v, size_t n);
  // Quotient coefficients (for tests).
  void coefficients(size_t at, Fr* h, size_t n);

 private:
  struct Circuit {
    Buffer<uint64_t> bits;
    Buffer<Fr> values;
    XYZZ<Fp> g1[4];
    XYZZ<Fp2> g2;
  };

  unsigned char* arena() const { return static_cast<unsigned char*>(d_->scratch(arena_)); }
  Circuit& circuit(size_t slot);
  void check_range(int section, size_t first, size_t n) const;
  Fr* vector(size_t i) const { return reinterpret_cast<Fr*>(arena()) + i * m_; }
  Fr* evaluated(size_t at, int matrix) const;
  Staging& witness_memory() { return witness_staging_ ? *witness_staging_ : staging_; }
  const SectionVariables& variables(int section) const { return vars_[section == SECTION_B2 ? SECTION_B1 : section]; }
  template <class F>
  void load_points(int section, StagedPoints<F>& p, size_t first, size_t n, const unsigned char* raw, PointCheck check,
                   const Cancel& cancel);
  template <class F>
  void stage_points(StagedPoints<F>& p, PointCheck check);
  template <class F>
  void sum_variables(int section, const StagedPoints<F>& p, const Circuit& c, XYZZ<F>& acc, const Cancel& cancel);
  void sum_quotient(Circuit& c, size_t at, const Cancel& cancel);

  fg_device* d_;
  SessionConfig cfg_;
  size_t m_;
  uint64_t arena_, wanted_arena_, least_arena_;
  std::unique_ptr<DeviceSystem> system_;
  Staging staging_;
  std::unique_ptr<Staging> witness_staging_;  // if witnesses go another way than the key
  Stream copy_;                               // of fetch and witness
  Event fetched_;
  SectionSplit split_[SECTIONS];
  SectionVariables vars_[SECTIONS];
  // Resident: the points of each section, those of bits first. Streamed: one range at a time, of section staged_, in the
  // first buffer, and the next one in file encoding.
  Buffer<unsigned char> points_[SECTIONS], next_;
  int staged_ = -1, next_section_ = -1;
  size_t next_first_ = 0, next_count_ = 0;
  StagedPoints<Fp> g1_[4];  // by section
  StagedPoints<Fp2> g2_;
  Buffer<unsigned char> raw_;
  std::unique_ptr<PointFault> fault_;
  std::vector<Circuit> circuits_;
};

}  // namespace fg
