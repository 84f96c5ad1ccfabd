#pragma once
// What two ranks of one machine share to open memory to each other (collective/rank/open_memory.h).

#include <array>
#include <vector>

#include "communicator/node/notices.h"
#include "communicator/node/offers.h"

namespace polypath::test {

class OpenEnds {
 public:
  [[nodiscard]] Notices notices_of(int rank) { return {notices_.data(), kRanks, rank}; }
  [[nodiscard]] Offers offers_of(int rank) { return {offers_.data(), kRanks, rank}; }

 private:
  static constexpr int kRanks = 2;
  struct alignas(64) Line {
    std::array<std::byte, 64> bytes;
  };

  std::vector<std::uint64_t> notices_ =
      std::vector<std::uint64_t>(Notices::bytes_for(kRanks) / sizeof(std::uint64_t));
  std::vector<Line> offers_ = std::vector<Line>(Offers::bytes_for(kRanks) / sizeof(Line));
};

}  // namespace polypath::test
