#include "fixed_base_impl.cuh"

namespace fg {

template class FixedBase<Fp>;

}  // namespace fg
