#include "mpi/staging.h"

#include "core/error.h"
#include "mpi/bottom.h"

namespace polypath::mpi {
namespace {

void copy(const Surroundings& around, Address from, Address to, std::size_t bytes, PlaceId gpu) {
  const StreamHandle stream = around.default_stream(gpu);
  around.driver.copy_native({.destination = to, .source = from, .bytes = {bytes}}, stream);
  around.driver.synchronize(stream);
}

}  // namespace

HostCopy::HostCopy(const Library& library, const Surroundings& around, const Side& side,
                   GpuOf gpu_of)
    : around_(around), memory_(side.memory) {
  if (memory_ == library.in_place || (memory_ != nullptr && !gpu_of(memory_))) return;
  range_ = range_of(library, side);
  if (range_.is_empty() || !gpu_of_elements(gpu_of, memory_, range_)) return;
  const auto memory = find_elements(around.driver, memory_, range_);
  if (!memory) return;
  gpu_ = memory->place;
  bytes_ = std::make_unique<std::byte[]>(size());
  take();
}

void HostCopy::take() {
  if (bytes_ != nullptr) copy(around_, first(), address_of(bytes_.get()), size(), gpu_);
}

void HostCopy::give_back() {
  if (bytes_ != nullptr) copy(around_, address_of(bytes_.get()), first(), size(), gpu_);
}

}  // namespace polypath::mpi
