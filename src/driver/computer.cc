#include "driver/computer.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#if POLYPATH_WITH_CUDA
#include "driver/cuda/cuda_driver.h"
#include "driver/cuda/gpu_facts.h"
#include "driver/cuda/verified_peers.h"
#endif

namespace polypath::driver {
namespace {

std::string processor_name() {
  for (const std::string& line : split(read_file("/proc/cpuinfo", 16384).value_or(""), '\n'))
    if (line.starts_with("model name")) return split(line, ':').back();
  return "unknown processor";
}

}  // namespace

#if POLYPATH_WITH_CUDA

namespace {

// Between which bytes were seen not to arrive the driver has to go by the host, as it does without
// peer access.
void leave_out_lost(std::vector<GpuFacts>& gpus) {
  auto& seen = cuda::VerifiedPeers::of_process();
  for (GpuFacts& from : gpus)
    for (std::size_t to = 0; to < from.reaches.size(); ++to)
      if (!seen.arrive(from.bus_id, gpus[to].bus_id).value_or(true) ||
          !seen.arrive(gpus[to].bus_id, from.bus_id).value_or(true))
        from.reaches[to] = false;
}

}  // namespace

namespace {

Computer look_at(bool all, bool peer_access) {
  Computer computer;
  computer.processor = processor_name();
  const cuda::DriverLibrary& library = cuda::DriverLibrary::get();
  computer.problem = library.problem;
  if (!computer.problem.empty()) return computer;
  computer.driver = cuda::facts().driver_version;
  computer.gpus = all ? cuda::all_gpus() : cuda::facts().gpus;
  leave_out_lost(computer.gpus);
  if (!peer_access)
    for (GpuFacts& gpu : computer.gpus) gpu.reaches.assign(computer.gpus.size(), false);
  return computer;
}

}  // namespace

Computer look_at_computer(bool peer_access) { return look_at(false, peer_access); }
Computer look_at_whole_computer(bool peer_access) { return look_at(true, peer_access); }

std::unique_ptr<Driver> open_gpu_driver(const Machine& machine, const GpuDriverOptions& options) {
  return std::make_unique<cuda::CudaDriver>(machine, options);
}

#else

Computer look_at_computer(bool) {
  Computer computer;
  computer.processor = processor_name();
  computer.problem = "this build has no CUDA driver layer";
  return computer;
}

Computer look_at_whole_computer(bool peer_access) { return look_at_computer(peer_access); }

std::unique_ptr<Driver> open_gpu_driver(const Machine&, const GpuDriverOptions&) {
  fail(ErrorCode::unsupported, "the GPUs cannot be used", "this build has no CUDA driver layer",
       "Build with POLYPATH_WITH_CUDA=ON.");
}

#endif

}  // namespace polypath::driver
