// Package hosttest checks the CUDA field and curve headers on the host: it compiles them with a C++ compiler into
// a small program and compares every operation with gnark-crypto, on edge values and random ones. The device's
// own code paths are checked by test/msm_device_test.cu instead. Nothing imports this package.
package hosttest
