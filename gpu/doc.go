// Package gpu is the CUDA backend: one NVIDIA device as an ntt.Engine, an msm.Engine and a groth16.Backend.
//
// The kernels live in libfilgroth_cuda.so, built from the folder cuda by "make -C gpu/cuda" and opened when a [Device] is
// opened, never before: a program that imports this package runs on machines without a GPU, and pays nothing there. What
// is missing comes back as a typed error ([ErrNoLibrary], [ErrNoDriver], [ErrNoDevice], [ErrUnsupportedArch], [ErrStale],
// [ErrABI]); [Probe] reports all of it at once. Without cgo, or on systems other than Linux, everything builds and
// [Open] says so.
//
// A Device does its work on one operating-system thread of its own; goroutines queue for it. Whoever has no NVIDIA
// device wants the engines of packages ntt and msm.
package gpu
