#include "fixed_base_impl.cuh"

namespace fg {

template class FixedBase<Fp2>;

}  // namespace fg
