#include "ntt_pass.cuh"

template void fg::nttk::launch_pass<6>(bool, bool, bool, const Fr*, Fr*, const PassArgs&, cudaStream_t);
