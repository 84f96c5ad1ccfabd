#pragma once
// UCX under an MPI, which takes memory of GPUs though that MPI says that it does not.

namespace polypath::mpi {

/// UCX's module for CUDA is loaded: what goes by UCX may be in memory of GPUs.
[[nodiscard]] bool ucx_takes_gpu_memory();
/// The launcher was told that windows go by UCX (`--mca osc ucx`), and UCX takes memory of GPUs.
[[nodiscard]] bool windows_go_by_ucx();

}  // namespace polypath::mpi
