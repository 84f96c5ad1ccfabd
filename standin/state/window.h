#pragma once
// The host's room behind addresses that a program has reserved: what is mapped side by side there
// lies side by side here, too, so that kernels find several mappings as one range.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "driver/sim/memory.h"
#include "standin/state/segment.h"

namespace polypath::standin {

/// Thread-safe.
class Window {
 public:
  /// As large as the reservation; faults where nothing is shown. Error (out_of_memory).
  explicit Window(Bytes size);
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  ~Window();

  /// The beginning of a segment, in place of what was there; a name for it, never given again.
  std::uint64_t show(const Segment& segment, Bytes offset, Bytes size);
  /// Takes it away again, if nothing else was shown there since.
  void hide(std::uint64_t shown);

  [[nodiscard]] std::byte* at(Bytes offset) const { return begin_ + offset.value; }

 private:
  struct Range {
    Bytes offset;
    Bytes size;
  };

  std::mutex mutex_;
  Bytes size_;
  std::byte* begin_;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, Range> shown_;
};

/// A segment's memory in a window, shown there as long as work may use it.
class ShownMemory final : public sim::Backing {
 public:
  /// `base` is where the program has it, in a reservation that begins at `reserved`.
  ShownMemory(std::shared_ptr<Window> window, std::shared_ptr<Segment> segment, Address reserved,
              Address base, Bytes size);
  ~ShownMemory() override { window_->hide(shown_); }

  [[nodiscard]] Address base() const override { return base_; }
  [[nodiscard]] std::byte* bytes() const override { return bytes_; }
  [[nodiscard]] bool may_go_on() const override { return true; }

 private:
  std::shared_ptr<Window> window_;
  std::shared_ptr<Segment> segment_;
  Address base_;
  std::byte* bytes_;
  std::uint64_t shown_;
};

}  // namespace polypath::standin
