#pragma once
// What two ranks of one machine share to open memory to each other
// (collective/rank/peer_registration.h).

#include <array>
#include <vector>

#include "communicator/node/agreement_ring.h"
#include "communicator/node/handle_board.h"
#include "support/layers.h"

namespace polypath::test {

class OpenEnds {
 public:
  [[nodiscard]] HandleBoard notices_of(int rank) { return {handles_.data(), kRanks, rank}; }
  [[nodiscard]] AgreementRing offers_of(int rank) { return {agreements_.data(), kRanks, rank}; }

 private:
  static constexpr int kRanks = 2;
  struct alignas(64) Line {
    std::array<std::byte, 64> bytes;
  };

  std::vector<std::uint64_t> handles_ =
      std::vector<std::uint64_t>(HandleBoard::bytes_for(kRanks) / sizeof(std::uint64_t));
  std::vector<Line> agreements_ =
      std::vector<Line>(AgreementRing::bytes_for(kRanks) / sizeof(Line));
};

}  // namespace polypath::test
