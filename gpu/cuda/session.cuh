// The sums of proofs on the device: one constraint system, one key, any number of circuits one after another.
//
// The caller drives the stages, each of which returns when it is done:
//
//   begin -> for each circuit: witness, evaluate (or evaluations), quotient, sum H -> for each section: sum -> take
//
// With a resident key all points are on the device from the start. With a streamed key the caller stages a range of a
// section first and sums it for every circuit before it stages the next one; sums add up.
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
  bool direct = false;             // host memory is copied from where it is, not through the ring
  bool has_system = true;          // a, b, c are evaluated on the device
  uint64_t chunk = 0;              // points staged at a time, where the key is streamed
  int windows[SECTIONS] = {};
  uint64_t circuits = 1;           // most circuits of a call
};

// Bytes on the device, before anything is allocated. The arena is scratch memory that all work on the device shares.
struct SessionBytes {
  uint64_t held = 0;    // system, key or staged points, index lists
  uint64_t circuit = 0; // of each circuit of a call
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
  // Encoded points from first on. Resident: to their place. Streamed: they become the staged range.
  void load(int section, size_t first, size_t n, const unsigned char* raw, PointCheck check, const Cancel& cancel);

  void begin(size_t circuits);
  void witness(size_t slot, const uint64_t* bits, const Fr* inputs, const Fr* fields);
  void evaluate(size_t slot);
  void evaluations(const Fr* a, const Fr* b, const Fr* c, size_t rows);
  void quotient(const Cancel& cancel);
  // Adds the sum over the staged range of a section to the circuit's. H uses the quotient that was made last.
  void sum(int section, size_t slot, const Cancel& cancel);
  void take(size_t slot, G1Jacobian g1[4], G2Jacobian* g2);
  // Row values a, b, c (for tests): what evaluate left, before quotient.
  void rows(Fr* a, Fr* b, Fr* c, size_t n);
  // Quotient coefficients (for tests).
  void coefficients(Fr* h, size_t n);

 private:
  struct Circuit {
    Buffer<uint64_t> bits;
    Buffer<Fr> values;
    XYZZ<Fp> g1[4];
    XYZZ<Fp2> g2;
  };

  unsigned char* arena() const { return static_cast<unsigned char*>(d_->scratch(arena_)); }
  Circuit& circuit(size_t slot);
  size_t stage_bytes() const;
  const SectionVariables& variables(int section) const { return vars_[section == SECTION_B2 ? SECTION_B1 : section]; }
  template <class F>
  void load_range(int section, StagedPoints<F>& p, size_t first, size_t n, const unsigned char* raw, PointCheck check,
                  const Cancel& cancel);
  template <class F>
  void sum_variables(int section, const StagedPoints<F>& p, const Circuit& c, XYZZ<F>& acc, const Cancel& cancel);
  void sum_quotient(Circuit& c, const Cancel& cancel);

  fg_device* d_;
  SessionConfig cfg_;
  size_t m_;
  uint64_t arena_, wanted_arena_, least_arena_;
  std::unique_ptr<DeviceSystem> system_;
  Staging staging_;
  SectionSplit split_[SECTIONS];
  SectionVariables vars_[SECTIONS];
  // Resident: the points of each section, those of bits first. Streamed: one range at a time, of section staged_, in the
  // first buffer.
  Buffer<unsigned char> points_[SECTIONS];
  int staged_ = -1;
  StagedPoints<Fp> g1_[4];  // by section
  StagedPoints<Fp2> g2_;
  Buffer<unsigned char> raw_;
  std::vector<Circuit> circuits_;
  int h_at_ = 0;  // which of the four vectors at the arena's head is the quotient
};

}  // namespace fg
