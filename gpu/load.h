// The library's functions, found at run time. Included once, by lib_cgo.go.
#ifndef FILGROTH_LOAD_H
#define FILGROTH_LOAD_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/filgroth_cuda.h"

#define FG_FUNCTIONS(X)                                                                                     \
  X(fg_source_digest) X(fg_architectures) X(fg_versions) X(fg_device_query) X(fg_bytes_held)                \
  X(fg_bytes_reset_peak) X(fg_fault_set) X(fg_fault_left) X(fg_host_register) X(fg_host_unregister)         \
  X(fg_device_open) X(fg_device_close) X(fg_device_trim) X(fg_ntt) X(fg_quotient) X(fg_msm) X(fg_multiples) \
  X(fg_session_plan) X(fg_session_open) X(fg_session_close) X(fg_session_system) X(fg_session_template)     \
  X(fg_session_system_done) X(fg_session_section) X(fg_session_load) X(fg_session_fetch)                    \
  X(fg_session_stage) X(fg_session_begin)                                                                   \
  X(fg_session_witness) X(fg_session_evaluate) X(fg_session_evaluations) X(fg_session_rows)                 \
  X(fg_session_quotient) X(fg_session_coefficients) X(fg_session_sum) X(fg_session_take)

typedef struct {
  uint32_t abi;
#define FG_FIELD(f) __typeof__(f)* f;
  FG_FUNCTIONS(FG_FIELD)
#undef FG_FIELD
} fg_table;

enum fg_load_status { FG_LOADED, FG_LOAD_NO_MEMORY, FG_LOAD_OPEN, FG_LOAD_NOT_OURS, FG_LOAD_ABI, FG_LOAD_SYMBOL };

// fg_load opens a library; the table lives as long as the process. message says what went wrong. The interface's number
// is looked at before any other function, since another number may mean other functions.
static int fg_load(const char* path, fg_table** out, uint32_t* abi, char* message, size_t size) {
  void* h = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!h) {
    snprintf(message, size, "%s", dlerror());
    return FG_LOAD_OPEN;
  }
  uint32_t (*version)(void) = (uint32_t(*)(void))dlsym(h, "fg_abi_version");
  if (!version) {
    snprintf(message, size, "no symbol fg_abi_version");
    dlclose(h);
    return FG_LOAD_NOT_OURS;
  }
  *abi = version();
  if (*abi != FG_ABI_VERSION) {
    dlclose(h);
    return FG_LOAD_ABI;
  }
  fg_table* t = (fg_table*)calloc(1, sizeof *t);
  if (!t) {
    dlclose(h);
    return FG_LOAD_NO_MEMORY;
  }
  t->abi = *abi;
#define FG_FIND(f)                                     \
  t->f = (__typeof__(f)*)dlsym(h, #f);                 \
  if (!t->f) {                                         \
    snprintf(message, size, "no symbol " #f);          \
    free(t);                                           \
    dlclose(h);                                        \
    return FG_LOAD_SYMBOL;                             \
  }
  FG_FUNCTIONS(FG_FIND)
#undef FG_FIND
  *out = t;
  return FG_LOADED;
}

// cgo cannot call through pointers.
static const char* call_source_digest(fg_table* t) { return t->fg_source_digest(); }
static const char* call_architectures(fg_table* t) { return t->fg_architectures(); }
static fg_result call_versions(fg_table* t, int32_t* driver, int32_t* runtime, int32_t* devices) {
  return t->fg_versions(driver, runtime, devices);
}
static fg_result call_device_query(fg_table* t, int32_t ordinal, fg_device_info* out) {
  return t->fg_device_query(ordinal, out);
}
static void call_bytes_held(fg_table* t, int32_t ordinal, fg_bytes* out) { t->fg_bytes_held(ordinal, out); }
static void call_bytes_reset_peak(fg_table* t, int32_t ordinal) { t->fg_bytes_reset_peak(ordinal); }
static void call_fault_set(fg_table* t, int64_t n) { t->fg_fault_set(n); }
static int64_t call_fault_left(fg_table* t) { return t->fg_fault_left(); }
static fg_result call_host_register(fg_table* t, int32_t ordinal, void* p, uint64_t n) {
  return t->fg_host_register(ordinal, p, n);
}
static fg_result call_host_unregister(fg_table* t, int32_t ordinal, void* p, uint64_t n) {
  return t->fg_host_unregister(ordinal, p, n);
}
static fg_result call_device_open(fg_table* t, int32_t ordinal, uint64_t budget, fg_device** out) {
  return t->fg_device_open(ordinal, budget, out);
}
static void call_device_close(fg_table* t, fg_device* d) { t->fg_device_close(d); }
static fg_result call_device_trim(fg_table* t, fg_device* d) { return t->fg_device_trim(d); }
static fg_result call_ntt(fg_table* t, fg_device* d, int32_t log, int32_t inverse, int32_t coset, void* v,
                          const int32_t* cancel) {
  return t->fg_ntt(d, log, inverse, coset, v, cancel);
}
static fg_result call_quotient(fg_table* t, fg_device* d, int32_t log, void* a, const void* b, const void* c,
                               const int32_t* cancel) {
  return t->fg_quotient(d, log, a, b, c, cancel);
}
static fg_result call_msm(fg_table* t, fg_device* d, int32_t group, uint64_t n, const void* points, const void* scalars,
                          const uint64_t* bits, uint64_t tails, const uint32_t* tail_at, int32_t window, void* out,
                          const int32_t* cancel) {
  return t->fg_msm(d, group, n, points, scalars, bits, tails, tail_at, window, out, cancel);
}
static fg_result call_multiples(fg_table* t, fg_device* d, int32_t group, const void* base, uint64_t n,
                                const void* scalars, void* out, const int32_t* cancel) {
  return t->fg_multiples(d, group, base, n, scalars, out, cancel);
}
static fg_result call_session_plan(fg_table* t, fg_device* d, const fg_session_config* c, fg_session_bytes* out) {
  return t->fg_session_plan(d, c, out);
}
static fg_result call_session_open(fg_table* t, fg_device* d, const fg_session_config* c, fg_session** out) {
  return t->fg_session_open(d, c, out);
}
static void call_session_close(fg_table* t, fg_session* s) { t->fg_session_close(s); }
static fg_result call_session_system(fg_table* t, fg_session* s, const void* coeffs, const uint64_t* bools,
                                     const uint32_t* wires, const void* instances) {
  return t->fg_session_system(s, coeffs, bools, wires, instances);
}
static fg_result call_session_template(fg_table* t, fg_session* s, uint32_t wires, uint32_t locals, uint32_t rows,
                                       const uint64_t* bits, const uint32_t* pa, const uint32_t* ca, const uint32_t* fa,
                                       const uint32_t* pb, const uint32_t* cb, const uint32_t* fb, const uint32_t* pc,
                                       const uint32_t* cc, const uint32_t* fc) {
  return t->fg_session_template(s, wires, locals, rows, bits, pa, ca, fa, pb, cb, fb, pc, cc, fc);
}
static fg_result call_session_system_done(fg_table* t, fg_session* s) { return t->fg_session_system_done(s); }
static fg_result call_session_section(fg_table* t, fg_session* s, int32_t section, const uint64_t* mask,
                                      const uint32_t* bit_at, const uint32_t* value_at) {
  return t->fg_session_section(s, section, mask, bit_at, value_at);
}
static fg_result call_session_load(fg_table* t, fg_session* s, int32_t section, uint64_t first, uint64_t n,
                                   const void* raw, int32_t check, const int32_t* cancel) {
  return t->fg_session_load(s, section, first, n, raw, check, cancel);
}
static fg_result call_session_fetch(fg_table* t, fg_session* s, int32_t section, uint64_t range, uint64_t first, uint64_t n,
                                    const void* raw, const int32_t* cancel) {
  return t->fg_session_fetch(s, section, range, first, n, raw, cancel);
}
static fg_result call_session_stage(fg_table* t, fg_session* s, int32_t check) { return t->fg_session_stage(s, check); }
static fg_result call_session_begin(fg_table* t, fg_session* s) { return t->fg_session_begin(s); }
static fg_result call_session_witness(fg_table* t, fg_session* s, uint64_t slot, const uint64_t* bits,
                                      const void* inputs, const void* fields, const int32_t* cancel) {
  return t->fg_session_witness(s, slot, bits, inputs, fields, cancel);
}
static fg_result call_session_evaluate(fg_table* t, fg_session* s, uint64_t slot, uint64_t at, int32_t matrix) {
  return t->fg_session_evaluate(s, slot, at, matrix);
}
static fg_result call_session_evaluations(fg_table* t, fg_session* s, uint64_t at, int32_t matrix, const void* v,
                                          uint64_t rows, const int32_t* cancel) {
  return t->fg_session_evaluations(s, at, matrix, v, rows, cancel);
}
static fg_result call_session_rows(fg_table* t, fg_session* s, uint64_t at, int32_t matrix, void* v, uint64_t rows) {
  return t->fg_session_rows(s, at, matrix, v, rows);
}
static fg_result call_session_quotient(fg_table* t, fg_session* s, uint64_t at, int32_t step, const int32_t* cancel) {
  return t->fg_session_quotient(s, at, step, cancel);
}
static fg_result call_session_coefficients(fg_table* t, fg_session* s, uint64_t at, void* h, uint64_t n) {
  return t->fg_session_coefficients(s, at, h, n);
}
static fg_result call_session_sum(fg_table* t, fg_session* s, int32_t section, uint64_t slot, uint64_t at,
                                  const int32_t* cancel) {
  return t->fg_session_sum(s, section, slot, at, cancel);
}
static fg_result call_session_take(fg_table* t, fg_session* s, uint64_t slot, void* g1, void* g2) {
  return t->fg_session_take(s, slot, g1, g2);
}

#endif
