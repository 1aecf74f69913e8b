#include "msm_impl.cuh"

namespace fg {

// Two sums of 256 windows fit: no plan has more.
MsmContext::MsmContext() : landing(512 * sizeof(XYZZ<Fp2>)), sms(device_sms()) {}

template MsmPlan msm_plan<Fp>(size_t, const MsmConfig&);
template XYZZ<Fp> msm_run<Fp>(const MsmPlan&, MsmContext&, const Affine<Fp>*, const Fr*, size_t, void*, cudaStream_t,
                              const Cancel&);

}  // namespace fg
