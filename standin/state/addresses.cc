#include "standin/state/addresses.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/error.h"
#include "core/text.h"

namespace polypath::standin {
namespace {

constexpr Bytes kGranularity = 2_MiB;  // of a GPU's pages, so that about the same size fits

Bytes rounded(Bytes size) {
  const std::uint64_t pages = (size.value + kGranularity.value - 1) / kGranularity.value;
  return kGranularity * pages;
}

Address reserve(Bytes size) {
  void* begin =
      mmap(nullptr, size.value, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (begin == MAP_FAILED)
    fail(ErrorCode::out_of_memory, fmt::format("{} cannot be allocated", describe_bytes(size)),
         std::strerror(errno), "Use smaller sizes, or fewer allocations at a time.");
  return {reinterpret_cast<std::uintptr_t>(begin)};
}

}  // namespace

Address Addresses::take(Bytes size) {
  if (!reuse_) return reserve(size);
  const Bytes wanted = rounded(size);
  const auto found = std::find_if(free_.rbegin(), free_.rend(), [&](const Range& range) {
    return range.size >= wanted && range.size <= wanted * 2;
  });
  if (found == free_.rend()) return reserve(wanted);
  const Range range = *found;
  free_.erase(std::next(found).base());
  if (range.size > wanted) free_.push_back({range.begin + wanted, range.size - wanted});
  return range.begin;
}

void Addresses::give_back(Address begin, Bytes size) {
  if (reuse_) free_.push_back({begin, rounded(size)});
  else munmap(reinterpret_cast<void*>(begin.value), size.value);
}

}  // namespace polypath::standin
