#include "communicator/transport/rounds_over_transport.h"

#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace polypath::communicator {
namespace {

constexpr std::uint32_t kSizeTag = 0x73697a65, kBytesTag = 0x62797465;

/// Some ranks of a transport: `ranks[i]` is the i-th one's there.
class Rounds {
 public:
  Rounds(Transport& transport, std::vector<int> ranks)
      : transport_(&transport), ranks_(std::move(ranks)) {}

  std::vector<Blob> operator()(const Blob& mine, Seconds timeout) const {
    const std::uint64_t own = mine.size();
    std::vector<std::uint64_t> sizes(ranks_.size(), own);
    exchange(
        kSizeTag, std::as_bytes(std::span(&own, 1)),
        [&](std::size_t of) { return std::as_writable_bytes(std::span(&sizes[of], 1)); }, timeout);
    std::vector<Blob> all(ranks_.size());
    for (std::size_t rank = 0; rank < all.size(); ++rank)
      all[rank] = is_own(rank) ? mine : Blob(sizes[rank], '\0');
    exchange(
        kBytesTag, std::as_bytes(std::span(mine)),
        [&](std::size_t of) { return std::as_writable_bytes(std::span(all[of])); }, timeout);
    return all;
  }

  [[nodiscard]] Rounds of(const Subgroup& group) const {
    std::vector<int> ranks;
    for (const int member : group.members)
      ranks.push_back(ranks_[static_cast<std::size_t>(member)]);
    return {*transport_, std::move(ranks)};
  }

 private:
  [[nodiscard]] bool is_own(std::size_t rank) const { return ranks_[rank] == transport_->rank(); }

  template <class Place>
  void exchange(std::uint32_t tag, std::span<const std::byte> mine, Place place,
                Seconds timeout) const {
    std::vector<MessageNumber> started;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
      if (!is_own(rank)) started.push_back(transport_->receive(ranks_[rank], tag, place(rank)));
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
      if (!is_own(rank)) started.push_back(transport_->send(ranks_[rank], tag, mine));
    for (const MessageNumber message : started) transport_->wait(message, timeout);
  }

  Transport* transport_;
  std::vector<int> ranks_;
};

BootstrapFunctions functions_of(const Rounds& rounds) {
  return {
      .all_gather = [rounds](const Blob& mine, Seconds timeout) { return rounds(mine, timeout); },
      .split = [rounds](const Subgroup& group) { return functions_of(rounds.of(group)); }};
}

}  // namespace

BootstrapFunctions rounds_over(Transport& transport) {
  std::vector<int> all(static_cast<std::size_t>(transport.size()));
  std::iota(all.begin(), all.end(), 0);
  return functions_of(Rounds(transport, std::move(all)));
}

}  // namespace polypath::communicator
