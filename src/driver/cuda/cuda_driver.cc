#include "driver/cuda/cuda_driver.h"

#include <unistd.h>

#include "core/error.h"
#include "driver/cuda/gpu_facts.h"
#include "driver/cuda/nvml.h"

namespace polypath::cuda {
namespace {

CudaGpus usable_gpus(const Machine& machine, const std::vector<int>& gpus) {
  const std::string& problem = DriverLibrary::get().problem;
  if (!problem.empty())
    fail(ErrorCode::unsupported, "the GPUs cannot be used", problem, "Name a machine to simulate.");
  return {machine, gpus};
}

}  // namespace

CudaDriver::CudaDriver(const Machine& machine, const GpuDriverOptions& options)
    : start_(std::chrono::steady_clock::now()),
      gpus_(usable_gpus(machine, options.gpus)),
      contexts_(options.own_contexts),
      peers_(contexts_, options.peer_access),
      streams_(gpus_, contexts_),
      events_(gpus_, contexts_, streams_),
      memory_(gpus_, contexts_, peers_, streams_),
      sharing_(gpus_, contexts_, memory_),
      copies_(gpus_, contexts_, peers_, streams_),
      kernels_(gpus_, contexts_, peers_, streams_, memory_),
      reductions_(kernels_, contexts_),
      flags_(gpus_, contexts_, peers_, streams_, kernels_),
      graphs_({.gpus = gpus_,
               .contexts = contexts_,
               .streams = streams_,
               .copies = copies_,
               .kernels = kernels_,
               .reductions = reductions_,
               .flags = flags_}) {}

Seconds CudaDriver::now() {
  return {std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count()};
}

bool CudaDriver::is_open(PlaceId place) {
  if (!gpus_.is_gpu(place)) return true;
  const int number = gpus_.ordinal(place);
  return contexts_.has(number) || (!contexts_.are_own() && is_visible(number) && is_active(number));
}

bool CudaDriver::is_used_by_others(PlaceId gpu) {
  if (!gpus_.is_gpu(gpu)) return false;
  const int number = gpus_.ordinal(gpu);
  return are_others_among(processes_on(facts_of(number).bus_id), static_cast<unsigned>(getpid()),
                          contexts_.has(number) || (is_visible(number) && is_active(number)));
}

void CudaDriver::note_lost(PlaceId source, PlaceId destination) {
  if (gpus_.is_gpu(source) && gpus_.is_gpu(destination))
    peers_.note_lost(gpus_.ordinal(source), gpus_.ordinal(destination));
}

}  // namespace polypath::cuda
