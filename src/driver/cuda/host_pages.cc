#include "driver/cuda/host_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace polypath::cuda {
namespace {

constexpr std::uintptr_t kLargePage = std::uintptr_t{2} << 20;

}  // namespace

// One large page more than needed, so that the first byte can be at the beginning of one.
HostPages::HostPages(Bytes bytes) : mapped_(bytes.value + kLargePage) {
  void* mapping =
      mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) return;
  mapping_ = mapping;
  const std::uintptr_t first = reinterpret_cast<std::uintptr_t>(mapping);
  begin_ = reinterpret_cast<void*>((first + kLargePage - 1) / kLargePage * kLargePage);
  madvise(begin_, bytes.value, MADV_HUGEPAGE);
  madvise(begin_, bytes.value, MADV_DONTFORK);  // copies of it would be of no use to a child
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  auto* const byte = static_cast<volatile char*>(begin_);
  for (std::size_t at = 0; at < bytes.value; at += page) byte[at] = 0;
}

HostPages::~HostPages() {
  if (mapping_ != nullptr) munmap(mapping_, mapped_);
}

}  // namespace polypath::cuda
