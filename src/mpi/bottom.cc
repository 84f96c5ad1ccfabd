#include "mpi/bottom.h"

#include <fmt/format.h>

#include "core/error.h"

namespace polypath::mpi {

std::optional<int> gpu_of_elements(GpuOf ask, const void* memory, const Range& range) {
  if (memory != nullptr) return ask(memory);
  if (range.is_empty() || range.begin <= 0) return std::nullopt;
  const auto at = [](Count address) { return reinterpret_cast<const void*>(address); };
  const auto first = ask(at(range.begin));
  return first ? first : ask(at(range.end - 1));
}

std::optional<MemoryInfo> find_elements(Driver& driver, const void* memory, const Range& range) {
  const Address first{address_of(memory).value + static_cast<std::uintptr_t>(range.begin)};
  const auto found = driver.find_memory(first);
  if (memory != nullptr) return found;
  const auto bytes = static_cast<std::uint64_t>(range.end - range.begin);
  const bool is_on_gpu =
      found && (found->kind == MemoryKind::device || found->kind == MemoryKind::managed);
  if (!is_on_gpu || first.value - found->base.value + bytes > found->size.value)
    fail(ErrorCode::unsupported,
         fmt::format("{} bytes of MPI_BOTTOM cannot be copied to the host", bytes),
         "they do not all lie in one allocation of a GPU",
         "Give one type for each allocation, in calls of their own.");
  return found;
}

}  // namespace polypath::mpi
