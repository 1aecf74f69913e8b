// The C interface of libfilgroth_cuda.so. Field elements are those of gnark-crypto in memory: Montgomery form,
// little-endian words. Every function that can fail returns a result by value; code 0 is success, and then only are the
// outputs set. No exception and no signal leaves the library. A handle belongs to one device; calls on handles of one
// device must not overlap in time, unless the function says otherwise. Pointers are host pointers.
#ifndef FILGROTH_CUDA_H
#define FILGROTH_CUDA_H

#include <stddef.h>
#include <stdint.h>

#define FG_ABI_VERSION 2
#define FG_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  int32_t code;  // fg_code
  int32_t cuda;  // the CUDA error, if that was the cause
  uint64_t need, have;  // bytes, for FG_E_MEMORY where known
  int64_t index;        // the offending element, for FG_E_POINT; else -1
  char message[224];
} fg_result;

enum fg_code {
  FG_OK = 0,
  FG_E_CUDA = 1,
  FG_E_MEMORY = 2,
  FG_E_ARGUMENT = 3,
  FG_E_CANCELLED = 4,
  FG_E_POINT = 5,
  FG_E_INTERNAL = 6,
  FG_E_HOST_MEMORY = 7,
  FG_E_NO_DEVICE = 8,
  FG_E_NO_DRIVER = 9,
  FG_E_ARCH = 10
};

typedef struct {
  char name[128];
  int32_t major, minor, processors;
  int32_t runs;  // whether the library holds code for it
  uint64_t memory_total, memory_free;
} fg_device_info;

typedef struct {
  int64_t device, device_peak;  // of one device
  int64_t pinned;               // page-locked, allocated by the library or registered
} fg_bytes;

// Library and machine. These may be called from any thread at any time.
FG_API uint32_t fg_abi_version(void);
FG_API const char* fg_source_digest(void);   // SHA-256 of the sources, hex
FG_API const char* fg_architectures(void);   // what was compiled, e.g. "80 86 89 90 90+ptx"
FG_API fg_result fg_versions(int32_t* driver, int32_t* runtime, int32_t* devices);
FG_API fg_result fg_device_query(int32_t ordinal, fg_device_info* out);
FG_API void fg_bytes_held(int32_t ordinal, fg_bytes* out);
FG_API void fg_bytes_reset_peak(int32_t ordinal);
// The n-th checked CUDA call from now on fails (0: none); fg_fault_left says how many calls are left until then.
FG_API void fg_fault_set(int64_t n);
FG_API int64_t fg_fault_left(void);
// Page-locks memory that the caller owns, for all devices, with the context of one. bytes = 0 does nothing.
FG_API fg_result fg_host_register(int32_t ordinal, void* p, uint64_t bytes);
FG_API fg_result fg_host_unregister(int32_t ordinal, void* p, uint64_t bytes);

// A device: streams, twiddles and scratch memory that calls on it share.
// budget bounds the device bytes that the library holds on it at any time (0: what is free), so that a small card can
// be imitated on a big one.
typedef struct fg_device fg_device;
FG_API fg_result fg_device_open(int32_t ordinal, uint64_t budget, fg_device** out);
FG_API void fg_device_close(fg_device* d);
// Gives scratch memory and cached twiddles back.
FG_API fg_result fg_device_trim(fg_device* d);

// Transform of 2^log_n elements in place, natural order on both sides, result reduced. With coset: values on 7*H.
FG_API fg_result fg_ntt(fg_device* d, int32_t log_n, int32_t inverse, int32_t coset, void* v, const int32_t* cancel);
// Evaluations a, b, c on the domain to the coefficients of (a*b - c)/(X^m - 1), into a.
FG_API fg_result fg_quotient(fg_device* d, int32_t log_n, void* a, const void* b, const void* c, const int32_t* cancel);
// sum of k_i * P_i; group is 1 or 2, points are affine (96 or 192 bytes, infinity zero), out is Jacobian (144 or 288
// bytes). Either bits is null and scalars has n elements; or bits has n bits in words of 64 and scalars has tails
// elements, the multipliers of the points at tail_at. Points that do not fit are taken in chunks.
FG_API fg_result fg_msm(fg_device* d, int32_t group, uint64_t n, const void* points, const void* scalars,
                        const uint64_t* bits, uint64_t tails, const uint32_t* tail_at, int32_t window, void* out,
                         const int32_t* cancel);

// Multiples k_i * base as encoded points (96 bytes in group 1, 192 in group 2); the base is affine. The device keeps a
// table of the last base of each group until it is trimmed.
FG_API fg_result fg_multiples(fg_device* d, int32_t group, const void* base, uint64_t n, const void* scalars, void* out,
                              const int32_t* cancel);

// A session: one constraint system and one key on a device. See session.cuh for the order of the calls. Sections are
// 0 h, 1 l, 2 a, 3 b_g1, 4 b_g2; their points are split in those multiplied by bits and the tail.
typedef struct fg_session fg_session;
typedef struct {
  uint32_t inputs, aux, rows, coeffs, templates, instances, wires;
  int32_t low_memory;        // the quotient in two vectors, a matrix at a time, instead of four
  uint64_t pointers, terms;  // of all templates and matrices; pointers are rows + 1 each
  uint64_t fields;           // aux variables that are not bits
  uint64_t counts[5], tails[5];
  int32_t windows[5];        // bits, 0 = choose
  int32_t log_m;             // domain of 2^log_m
  int32_t resident;          // all points stay on the device; else they are staged by chunk
  int32_t has_system;        // a, b, c are evaluated on the device
  int32_t key_memory, witness_memory;  // 0 through a page-locked ring, 1 from where they are, 2 through one large buffer
  uint64_t ring_piece, ring_pieces;    // bytes and number, 0 = choose
  uint64_t chunks[5];        // most points staged at a time
  uint64_t slots;            // circuits whose witnesses are on the device at a time
  uint64_t quotients;        // that are kept for one pass over section h
} fg_session_config;
typedef struct {
  uint64_t held;                // system, points, index lists
  uint64_t circuit;             // each slot
  uint64_t arena, least_arena;  // scratch memory, wanted and needed; all work on the device shares it
  uint64_t available;           // on the device, scratch memory counted as free
} fg_session_bytes;
FG_API fg_result fg_session_plan(fg_device* d, const fg_session_config* c, fg_session_bytes* out);
FG_API fg_result fg_session_open(fg_device* d, const fg_session_config* c, fg_session** out);
FG_API void fg_session_close(fg_session* s);
// The system, if the session has one: tables first, then each template in order, then system_done.
FG_API fg_result fg_session_system(fg_session* s, const void* coeffs, const uint64_t* bools, const uint32_t* wires,
                                   const void* instances);
FG_API fg_result fg_session_template(fg_session* s, uint32_t wires, uint32_t locals, uint32_t rows, const uint64_t* bits,
                                     const uint32_t* ptr_a, const uint32_t* col_a, const uint32_t* coef_a,
                                     const uint32_t* ptr_b, const uint32_t* col_b, const uint32_t* coef_b,
                                     const uint32_t* ptr_c, const uint32_t* col_c, const uint32_t* coef_c);
FG_API fg_result fg_session_system_done(fg_session* s);
// A section but h: which of its points are tail, and the variables of both kinds (not for b_g2, which has those of b_g1):
// aux variables for bits, positions among inputs and then fields for the tail.
FG_API fg_result fg_session_section(fg_session* s, int32_t section, const uint64_t* tail_mask, const uint32_t* bit_at,
                                    const uint32_t* value_at);
// The next points of a section of a resident key in file encoding; check is 0 encoding only, 1 on the curve, 2 in the
// subgroup too. An invalid one is reported by the call that brings the section's last.
FG_API fg_result fg_session_load(fg_session* s, int32_t section, uint64_t first, uint64_t n, const void* raw, int32_t check,
                                 const int32_t* cancel);
// The next n points, in file encoding, of the range of a streamed key that begins at range. This call may overlap with
// any but itself and fg_session_stage.
FG_API fg_result fg_session_fetch(fg_session* s, int32_t section, uint64_t range, uint64_t first, uint64_t n, const void* raw,
                                  const int32_t* cancel);
// Converts the range that was fetched; sums are over it from then on.
FG_API fg_result fg_session_stage(fg_session* s, int32_t check);
FG_API fg_result fg_session_begin(fg_session* s);
// Starts a circuit in a slot. This call may overlap with any but itself and those for the same slot.
FG_API fg_result fg_session_witness(fg_session* s, uint64_t slot, const uint64_t* bits, const void* inputs, const void* fields,
                                    const int32_t* cancel);
// at < quotients is the place of the quotient. matrix and step are -1, or 0, 1, 2 in turn with low memory; evaluations
// come a matrix at a time in any case.
FG_API fg_result fg_session_evaluate(fg_session* s, uint64_t slot, uint64_t at, int32_t matrix);
FG_API fg_result fg_session_evaluations(fg_session* s, uint64_t at, int32_t matrix, const void* v, uint64_t rows, const int32_t* cancel);
FG_API fg_result fg_session_rows(fg_session* s, uint64_t at, int32_t matrix, void* v, uint64_t rows);
FG_API fg_result fg_session_quotient(fg_session* s, uint64_t at, int32_t step, const int32_t* cancel);
FG_API fg_result fg_session_coefficients(fg_session* s, uint64_t at, void* h, uint64_t n);
FG_API fg_result fg_session_sum(fg_session* s, int32_t section, uint64_t slot, uint64_t at, const int32_t* cancel);
// The sums h, l, a, b1 as Jacobian points of 144 bytes, b2 of 288.
FG_API fg_result fg_session_take(fg_session* s, uint64_t slot, void* g1, void* g2);

#ifdef __cplusplus
}
#endif
#endif
