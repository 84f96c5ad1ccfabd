#include "mpi/staging.h"

#include "core/error.h"

namespace polypath::mpi {
namespace {

void copy(const Surroundings& around, const void* from, void* to, std::size_t bytes, PlaceId gpu) {
  const StreamHandle stream = around.default_stream(gpu);
  around.driver.copy_native(
      {.destination = address_of(to), .source = address_of(from), .bytes = {bytes}}, stream);
  around.driver.synchronize(stream);
}

}  // namespace

HostCopy::HostCopy(const Library& library, const Surroundings& around, const Side& side,
                   GpuOf gpu_of)
    : around_(around), memory_(static_cast<std::byte*>(side.memory)) {
  if (side.memory == nullptr || side.memory == library.in_place || !gpu_of(side.memory)) return;
  range_ = range_of(library, side);
  if (range_.is_empty()) return;
  const auto memory = around.driver.find_memory(address_of(memory_ + range_.begin));
  if (!memory) return;
  gpu_ = memory->place;
  bytes_ = std::make_unique<std::byte[]>(size());
  take();
}

void HostCopy::take() {
  if (bytes_ != nullptr) copy(around_, memory_ + range_.begin, bytes_.get(), size(), gpu_);
}

void HostCopy::give_back() {
  if (bytes_ != nullptr) copy(around_, bytes_.get(), memory_ + range_.begin, size(), gpu_);
}

}  // namespace polypath::mpi
