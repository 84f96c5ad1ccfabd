#include "driver/cuda/cuda_gpus.h"

#include <fmt/format.h>

#include "core/error.h"
#include "driver/cuda/cuda_api.h"
#include "driver/cuda/handles.h"

namespace polypath::cuda {

CudaGpus::CudaGpus(const Machine& machine)
    : ordinals_(machine.places.size(), -1), places_(machine.places_of(PlaceKind::gpu)) {
  const auto visible = static_cast<std::size_t>(DriverLibrary::get().gpus);
  if (places_.size() > visible || places_.empty())
    fail(ErrorCode::invalid_machine,
         fmt::format("machine {} cannot be this computer", machine.name),
         fmt::format("it has {} GPUs and {} are visible", places_.size(), visible),
         "Name it with --machine to simulate it.");
  for (std::size_t i = 0; i < places_.size(); ++i)
    ordinals_[places_[i].index()] = static_cast<int>(i);
  host_ = machine.nearest_host(places_.front());
}

void CudaGpus::fail_as_no_gpu(PlaceId place) {
  fail(ErrorCode::invalid_argument, fmt::format("place number {} is no GPU", place.value),
       "streams and events belong to GPUs", "Pass a GPU of the machine.");
}

int CudaGpus::of_handle(std::uintptr_t handle) const {
  const int gpu = handle == 0 ? 0 : gpu_in(handle);
  if (gpu >= 0 && gpu < count()) return gpu;
  fail(ErrorCode::invalid_argument, fmt::format("handle 0x{:x} is unknown", handle),
       "this driver did not make it", "Pass a handle that it returned.");
}

}  // namespace polypath::cuda
