#include <algorithm>
#include <cstring>

#include "session.cuh"

using namespace fg;

struct fg_session {
  fg_device* device;
  SessionConfig config;
  Session session;

  fg_session(fg_device* d, const SessionConfig& c) : device(d), config(c), session(d, c) {}
};

namespace {

HostMemory host_memory(int32_t v) {
  if (v < 0 || v > int32_t(HostMemory::POOL)) FG_FAIL(E_ARGUMENT, "host memory %d", v);
  return HostMemory(v);
}

SessionConfig from_c(const fg_session_config& c) {
  SessionConfig r;
  r.shape.inputs = c.inputs;
  r.shape.aux = c.aux;
  r.shape.rows = c.rows;
  r.shape.coeffs = c.coeffs;
  r.shape.templates = c.templates;
  r.shape.instances = c.instances;
  r.shape.wires = c.wires;
  r.shape.pointers = c.pointers;
  r.shape.terms = c.terms;
  r.fields = c.fields;
  std::copy(c.counts, c.counts + SECTIONS, r.counts);
  std::copy(c.tails, c.tails + SECTIONS, r.tails);
  std::copy(c.windows, c.windows + SECTIONS, r.windows);
  r.log_m = c.log_m;
  r.resident = c.resident != 0;
  r.has_system = c.has_system != 0;
  r.low_memory = c.low_memory != 0;
  r.key_memory = host_memory(c.key_memory);
  r.witness_memory = host_memory(c.witness_memory);
  r.ring_piece = c.ring_piece;
  r.ring_pieces = c.ring_pieces;
  std::copy(c.chunks, c.chunks + SECTIONS, r.chunks);
  r.slots = c.slots;
  r.quotients = c.quotients;
  if (c.aux >= 1u << 31 || c.fields > c.aux) FG_FAIL(E_ARGUMENT, "%u aux variables, %llu of them fields", c.aux, (unsigned long long)c.fields);
  return r;
}

PointCheck point_check(int32_t check) {
  if (check < CHECK_ENCODING || check > CHECK_SUBGROUP) FG_FAIL(E_ARGUMENT, "check %d", check);
  return PointCheck(check);
}

template <class F>
fg_result in_session(fg_session* s, F f) noexcept {
  return guarded_on(s->device->ordinal, [&] { f(s->session); });
}

const Fr* elements(const void* p) { return static_cast<const Fr*>(p); }
Fr* elements(void* p) { return static_cast<Fr*>(p); }

}  // namespace

extern "C" {

fg_result fg_session_plan(fg_device* d, const fg_session_config* c, fg_session_bytes* out) {
  return guarded_on(d->ordinal, [&] {
    const SessionConfig cfg = from_c(*c);
    const uint64_t available = d->available();
    SessionBytes b = Session::bytes(cfg, available);
    const uint64_t fixed = b.held + b.circuit * cfg.slots;
    b = Session::bytes(cfg, available > fixed ? available - fixed : 0);
    *out = fg_session_bytes{b.held, b.circuit, b.arena, b.least_arena, available};
  });
}

fg_result fg_session_open(fg_device* d, const fg_session_config* c, fg_session** out) {
  return guarded_on(d->ordinal, [&] { *out = new fg_session(d, from_c(*c)); });
}

void fg_session_close(fg_session* s) {
  if (!s) return;
  released_on(s->device->ordinal, [&] { delete s; });
}

fg_result fg_session_system(fg_session* s, const void* coeffs, const uint64_t* bools, const uint32_t* wires,
                            const void* instances) {
  return in_session(s, [&](Session& x) {
    auto sys = std::make_unique<DeviceSystem>(s->config.shape, elements(coeffs), bools, wires,
                                              static_cast<const Instance*>(instances), s->device->main);
    if (sys->fields() != s->config.fields) FG_FAIL(E_ARGUMENT, "%u fields, %llu announced", sys->fields(), (unsigned long long)s->config.fields);
    x.set_system(std::move(sys));
  });
}

fg_result fg_session_template(fg_session* s, uint32_t wires, uint32_t locals, uint32_t rows, const uint64_t* bits,
                              const uint32_t* ptr_a, const uint32_t* col_a, const uint32_t* coef_a, const uint32_t* ptr_b,
                              const uint32_t* col_b, const uint32_t* coef_b, const uint32_t* ptr_c, const uint32_t* col_c,
                              const uint32_t* coef_c) {
  return in_session(s, [&](Session& x) {
    if (!x.system()) FG_FAIL(E_ARGUMENT, "a template before the system's tables");
    const TemplateMatrix m[3] = {{ptr_a, col_a, coef_a}, {ptr_b, col_b, coef_b}, {ptr_c, col_c, coef_c}};
    x.system()->add_template(wires, locals, rows, bits, m, s->device->main);
  });
}

fg_result fg_session_system_done(fg_session* s) {
  return in_session(s, [&](Session& x) {
    if (!x.system()) FG_FAIL(E_ARGUMENT, "the session has no constraint system");
    x.system()->finish(s->device->main);
  });
}

fg_result fg_session_section(fg_session* s, int32_t section, const uint64_t* tail_mask, const uint32_t* bit_at,
                             const uint32_t* value_at) {
  return in_session(s, [&](Session& x) { x.set_section(section, tail_mask, bit_at, value_at); });
}

fg_result fg_session_load(fg_session* s, int32_t section, uint64_t first, uint64_t n, const void* raw, int32_t check,
                          const int32_t* cancel) {
  return in_session(s, [&](Session& x) {
    x.load(section, first, n, static_cast<const unsigned char*>(raw), point_check(check), Cancel(cancel));
  });
}

fg_result fg_session_fetch(fg_session* s, int32_t section, uint64_t range, uint64_t first, uint64_t n, const void* raw,
                           const int32_t* cancel) {
  return in_session(s, [&](Session& x) {
    x.fetch(section, range, first, n, static_cast<const unsigned char*>(raw), Cancel(cancel));
  });
}

fg_result fg_session_stage(fg_session* s, int32_t check) {
  return in_session(s, [&](Session& x) { x.stage(point_check(check)); });
}

fg_result fg_session_begin(fg_session* s) {
  return in_session(s, [&](Session& x) { x.begin(); });
}

fg_result fg_session_witness(fg_session* s, uint64_t slot, const uint64_t* bits, const void* inputs, const void* fields,
                             const int32_t* cancel) {
  return in_session(s, [&](Session& x) { x.witness(slot, bits, elements(inputs), elements(fields), Cancel(cancel)); });
}

fg_result fg_session_evaluate(fg_session* s, uint64_t slot, uint64_t at, int32_t matrix) {
  return in_session(s, [&](Session& x) { x.evaluate(slot, at, matrix); });
}

fg_result fg_session_evaluations(fg_session* s, uint64_t at, int32_t matrix, const void* v, uint64_t rows, const int32_t* cancel) {
  return in_session(s, [&](Session& x) { x.evaluations(at, matrix, elements(v), rows, Cancel(cancel)); });
}

fg_result fg_session_rows(fg_session* s, uint64_t at, int32_t matrix, void* v, uint64_t rows) {
  return in_session(s, [&](Session& x) { x.rows(at, matrix, elements(v), rows); });
}

fg_result fg_session_quotient(fg_session* s, uint64_t at, int32_t step, const int32_t* cancel) {
  return in_session(s, [&](Session& x) { x.quotient(at, step, Cancel(cancel)); });
}

fg_result fg_session_coefficients(fg_session* s, uint64_t at, void* h, uint64_t n) {
  return in_session(s, [&](Session& x) { x.coefficients(at, elements(h), n); });
}

fg_result fg_session_sum(fg_session* s, int32_t section, uint64_t slot, uint64_t at, const int32_t* cancel) {
  return in_session(s, [&](Session& x) { x.sum(section, slot, at, Cancel(cancel)); });
}

fg_result fg_session_take(fg_session* s, uint64_t slot, void* g1, void* g2) {
  return in_session(s, [&](Session& x) {
    G1Jacobian a[4];
    G2Jacobian b;
    x.take(slot, a, &b);
    std::memcpy(g1, a, sizeof a);
    std::memcpy(g2, &b, sizeof b);
  });
}

}  // extern "C"
