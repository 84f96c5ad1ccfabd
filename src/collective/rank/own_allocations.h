#pragma once
// The callers' allocations of one rank, as it opens them to the other ranks of its node. Internal
// to shared_allocations.h, which says what that is for.

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "communicator/node/handle_board.h"
#include "driver/driver.h"

namespace polypath::collective {

/// Not thread-safe.
class OwnAllocations {
 public:
  /// `gpu` is this rank's; `handles` outlive it.
  OwnAllocations(Driver& driver, PlaceId gpu, HandleBoard& handles)
      : driver_(driver), gpu_(gpu), handles_(handles) {}

  /// As SharedAllocations has it.
  std::optional<std::uint64_t> encode(Address address, Bytes bytes, bool at_once, bool& waits);
  /// Takes one allocation back if it was freed: another one at each call.
  void look_at_one();
  /// Takes back all that were freed, but for those of which only a part was: others may still use
  /// the rest for calls that this rank has made.
  void forget_freed();
  /// Takes these back as well. No call of this rank uses them.
  void take_back_retired();
  /// Takes all of them back.
  void close();

  /// True if some are open to the others.
  [[nodiscard]] bool any_open() const;
  /// True if the others have released what was taken back.
  [[nodiscard]] bool are_released();

 private:
  static constexpr int kUsesBefore = 2;    ///< until an allocation is worth it
  static constexpr int kUsesPrivate = 64;  ///< until the driver is asked again
  static constexpr std::size_t kMost = 256;

  using Place = std::pair<Address, Bytes>;  ///< where it begins, and its size

  struct Own {
    std::vector<MemoryPart> parts = {};
    int uses = 0;
    std::size_t looked_at = 0;  ///< of the parts, in turn
    std::optional<int> notice = {};
    /// For good: it cannot be shared, too many others are, or another rank could not import it.
    bool is_private = false;
  };
  using Allocations = std::map<Place, Own>;

  [[nodiscard]] Allocations::iterator find(Address address, Bytes bytes);
  [[nodiscard]] Allocations::iterator look_up(Address address, Bytes bytes);
  [[nodiscard]] Allocations::iterator look_up_alone(Address address, Bytes bytes);
  [[nodiscard]] Own describe(Address address, Bytes bytes);
  [[nodiscard]] bool is_current(const Own& own, Address address, Bytes bytes);
  Allocations::iterator add(Own own);
  void open(Own& own);
  void forget(Allocations::iterator own);
  void take_back(int notice);

  Driver& driver_;
  PlaceId gpu_;
  HandleBoard& handles_;
  Allocations own_;
  std::vector<int> retired_;     ///< notices of allocations of which a part was freed
  std::vector<int> taken_back_;  ///< notices
  Place looked_at_;              ///< of own_, the last one in turn
};

/// The word that encode() returns: an allocation's number on the handle board, and the offset of an
/// address in it; 0 without memory.
inline constexpr int kOffsetBits = 56;
constexpr std::uint64_t word_of(int notice, Bytes offset) {
  return (static_cast<std::uint64_t>(notice) + 1) << kOffsetBits | offset.value;
}
constexpr int notice_of(std::uint64_t word) { return static_cast<int>(word >> kOffsetBits) - 1; }
constexpr Bytes offset_of(std::uint64_t word) {
  return {word & ((std::uint64_t{1} << kOffsetBits) - 1)};
}

}  // namespace polypath::collective
