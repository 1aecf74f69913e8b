// A compiled constraint system on the device, and the evaluation of a = A z, b = B z, c = C z from a compact witness.
//
// The system is templates and instances as the host has them: a template is three sparse matrices over local columns
// (column 0 is one, then the wires that an instance names, then consecutive aux variables of the instance's own).
#pragma once

#include <vector>

#include "device.cuh"
#include "fr.cuh"

namespace fg {

struct SystemShape {
  uint32_t inputs = 0, aux = 0, rows = 0;
  uint32_t coeffs = 0, templates = 0, instances = 0, wires = 0;
  uint64_t pointers = 0;  // of all templates and matrices: rows + 1 each
  uint64_t terms = 0;     // likewise
};

struct Instance {
  uint32_t tmpl, row, aux, wire;
};

struct TemplateMatrix {
  const uint32_t *ptr, *col, *coef;
};

// A witness on the device: a bit for each aux variable (zero where it is a field element), and the values of inputs,
// then of the aux variables that are field elements in order.
struct DeviceWitness {
  const uint64_t* bits;
  const Fr* values;
};

struct EvalArgs;

class DeviceSystem {
 public:
  // Host arrays; bools has a bit for each aux variable that is a bit. Refuses what is out of range.
  DeviceSystem(const SystemShape& shape, const Fr* coeffs, const uint64_t* bools, const uint32_t* wires,
               const Instance* instances, cudaStream_t s);
  // Templates are added in order, all of them before the first evaluation.
  void add_template(uint32_t wires, uint32_t locals, uint32_t rows, const uint64_t* bits, const TemplateMatrix m[3],
                    cudaStream_t s);
  void finish(cudaStream_t s);

  // Rows of the circuit, then a row "input * 0 = 0" for each input, then zeros up to m. Outputs are reduced.
  void evaluate(const DeviceWitness& w, Fr* a, Fr* b, Fr* c, size_t m, cudaStream_t s) const;
  // One of the three (0 a, 1 b, 2 c), row i at the bit reversal of i among 2^log_m.
  void evaluate_reversed(const DeviceWitness& w, int matrix, Fr* out, int log_m, cudaStream_t s) const;

  const SystemShape& shape() const { return shape_; }
  uint32_t fields() const { return fields_; }
  size_t bytes() const;
  // Bytes that a system of this shape takes.
  static uint64_t bytes_for(const SystemShape& s);

 private:
  struct Template {
    uint32_t wires, locals, rows;
    uint64_t ptr[3];  // where its row pointers begin; they hold positions among all terms
    uint64_t order;   // where the order of its rows begins
  };

  SystemShape shape_;
  uint32_t fields_ = 0;
  uint64_t pointers_used_ = 0, terms_used_ = 0, order_used_ = 0;
  std::vector<Template> host_templates_;
  std::vector<std::vector<uint64_t>> host_bits_;  // of the templates' columns
  std::vector<uint32_t> host_wires_, host_bools_;
  std::vector<Instance> host_instances_;
  std::vector<Fr> host_coeffs_;
  std::vector<int32_t> small_;  // coefficients that are small integers, else 0
  Buffer<Template> templates_;
  Buffer<Instance> instances_;
  Buffer<uint32_t> wires_, first_, order_;
  Buffer<Fr> coeffs_, small_values_;
  Buffer<uint32_t> bools_, rank_;
  Buffer<uint64_t> pointers_, terms_;

  void add_order(Template& t, const TemplateMatrix m[3], cudaStream_t s);
  EvalArgs args(const DeviceWitness& w, size_t m) const;
  void check_bits(const Instance& in, size_t at) const;

  friend struct EvalArgs;
};

}  // namespace fg
