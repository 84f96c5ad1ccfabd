#include "driver/cuda/cuda_gpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/error.h"
#include "driver/cuda/cuda_api.h"
#include "driver/cuda/handles.h"

namespace polypath::cuda {

namespace {

std::vector<int> visible_ones(const Machine& machine, std::size_t count) {
  const auto visible = static_cast<std::size_t>(DriverLibrary::get().gpus);
  if (count > visible || count == 0)
    fail(ErrorCode::invalid_machine,
         fmt::format("machine {} cannot be this computer", machine.name),
         fmt::format("it has {} GPUs and {} are visible", count, visible),
         "Name it with --machine to simulate it.");
  std::vector<int> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

}  // namespace

CudaGpus::CudaGpus(const Machine& machine, const std::vector<int>& gpus)
    : ordinals_(machine.places.size(), -1) {
  const std::vector<PlaceId> places = machine.places_of(PlaceKind::gpu);
  const std::vector<int> numbers = gpus.empty() ? visible_ones(machine, places.size()) : gpus;
  places_.resize(1 + static_cast<std::size_t>(std::ranges::max(numbers)));
  for (std::size_t i = 0; i < places.size(); ++i) {
    ordinals_[places[i].index()] = numbers.at(i);
    places_[static_cast<std::size_t>(numbers[i])] = places[i];
  }
  host_ = machine.nearest_host(places_.front());
}

void CudaGpus::fail_as_no_gpu(PlaceId place) {
  fail(ErrorCode::invalid_argument, fmt::format("place number {} is no GPU", place.value),
       "streams and events belong to GPUs", "Pass a GPU of the machine.");
}

int CudaGpus::of_handle(std::uintptr_t handle) const {
  const int gpu = handle == 0 ? 0 : gpu_in(handle);
  if (gpu >= 0 && place_of(gpu).valid()) return gpu;
  fail(ErrorCode::invalid_argument, fmt::format("handle 0x{:x} is unknown", handle),
       "this driver did not make it", "Pass a handle that it returned.");
}

}  // namespace polypath::cuda
