#pragma once
// Many small copies between two places that are asked for together, on a rig.

#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "support/rig.h"

namespace polypath::test {

inline const auto by_paths = testing::Field(&CopyResult::means, Method::paths);
inline const auto natively = testing::Field(&CopyResult::means, Method::native);

/// Pieces go by copies, never by kernels.
inline Settings by_copies() {
  Settings settings;
  settings.piece_kernels = false;
  return settings;
}

/// Blocks of a cache in the host's memory and in a GPU's, each in an order of its own.
class BlocksOf : public testing::Test {
 protected:
  explicit BlocksOf(const std::string& machine = "h200x4", const Settings& settings = by_copies())
      : rig_(machine, settings) {}

  void add(const std::string& from, const std::string& to, std::size_t blocks, std::size_t bytes) {
    source_ = &rig_.buffer(from, blocks * bytes);
    destination_ = &rig_.buffer(to, blocks * bytes);
    for (std::size_t block = 0; block < blocks; ++block)
      add(*destination_, (block * 7 + 3) % blocks * bytes, *source_, block * bytes, bytes);
  }
  void add(Buffer& destination, std::size_t to, Buffer& source, std::size_t from,
           std::size_t bytes) {
    calls_.push_back(rig_.call(destination, to, source, from, bytes, stream_, options_));
    expectations_.push_back([&destination, to, &source, from, bytes] {
      std::copy_n(source.expected.begin() + static_cast<std::ptrdiff_t>(from), bytes,
                  destination.expected.begin() + static_cast<std::ptrdiff_t>(to));
    });
  }
  std::vector<CopyResult> copy() {
    std::vector<CopyResult> results = rig_.engine().copy_many(calls_);
    for (const auto& expect : expectations_) expect();
    return results;
  }
  void copy_natively() {
    for (const CopyCall& call : calls_)
      rig_.driver().copy_native({.destination = call.destination,
                                 .source = call.source,
                                 .bytes = call.bytes,
                                 .label = {},
                                 .destination_place = destination_->place,
                                 .source_place = source_->place},
                                stream_);
  }
  /// Each time what is copied is written before, and what was copied is read and overwritten after,
  /// in the stream: right only if the pieces keep its order.
  void copy_between_others(int rounds) {
    const std::size_t bytes = source_->expected.size();
    Buffer& before = rig_.buffer("host", bytes);
    Buffer& after = rig_.buffer("gpu0", bytes);
    Buffer& relayed = rig_.buffer("gpu0", bytes);
    for (int round = 0; round < rounds; ++round) {
      rig_.copy(relayed, before, stream_);
      rig_.copy(*source_, relayed, stream_);
      EXPECT_THAT(copy(), testing::Each(by_paths));
      rig_.copy(after, *destination_, stream_);
      rig_.copy(*destination_, relayed, stream_);
    }
  }
  template <class Copy>
  Seconds time_of(Copy copy) {
    rig_.synchronize();
    const Seconds start = rig_.driver().now();
    copy();
    rig_.driver().synchronize(stream_);
    return rig_.driver().now() - start;
  }
  void expect_right() {
    EXPECT_TRUE(rig_.intact());
    EXPECT_THAT(rig_.close(), testing::IsEmpty());
  }

  Rig rig_;
  StreamHandle stream_ = rig_.stream("gpu0");
  PlanOptions options_;
  Buffer* source_ = nullptr;
  Buffer* destination_ = nullptr;
  std::vector<CopyCall> calls_;
  std::vector<std::function<void()>> expectations_;
};

}  // namespace polypath::test
