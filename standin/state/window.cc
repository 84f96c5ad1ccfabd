#include "standin/state/window.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/error.h"
#include "core/text.h"

namespace polypath::standin {
namespace {

constexpr int kNothing = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

std::byte* must(void* mapped, Bytes size) {
  if (mapped == MAP_FAILED)
    fail(ErrorCode::out_of_memory, fmt::format("{} cannot be mapped", describe_bytes(size)),
         std::strerror(errno), "Use smaller sizes, or fewer allocations at a time.");
  return static_cast<std::byte*>(mapped);
}

}  // namespace

Window::Window(Bytes size)
    : size_(size), begin_(must(mmap(nullptr, size.value, PROT_NONE, kNothing, -1, 0), size)) {}

Window::~Window() { munmap(begin_, size_.value); }

std::uint64_t Window::show(const Segment& segment, Bytes offset, Bytes size) {
  const std::scoped_lock lock(mutex_);
  (void)must(segment.map_at(at(offset), size), size);
  std::erase_if(shown_, [&](const auto& each) {
    const Range& range = each.second;
    return range.offset < offset + size && offset < range.offset + range.size;
  });
  shown_[++last_] = {offset, size};
  return last_;
}

void Window::hide(std::uint64_t shown) {
  const std::scoped_lock lock(mutex_);
  const auto found = shown_.find(shown);
  if (found == shown_.end()) return;
  const Range& range = found->second;
  (void)mmap(at(range.offset), range.size.value, PROT_NONE, kNothing | MAP_FIXED, -1, 0);
  shown_.erase(found);
}

ShownMemory::ShownMemory(std::shared_ptr<Window> window, std::shared_ptr<Segment> segment,
                         Address reserved, Address base, Bytes size)
    : window_(std::move(window)),
      segment_(std::move(segment)),
      base_(base),
      bytes_(window_->at(Bytes{base.value - reserved.value})),
      shown_(window_->show(*segment_, Bytes{base.value - reserved.value}, size)) {}

}  // namespace polypath::standin
