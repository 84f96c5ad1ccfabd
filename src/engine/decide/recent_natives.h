#pragma once
// Copies that lately went as one native copy, so that the next one like them can go at once.
//
// Copies are alike if they have the same size (or are all too small to plan, whatever that was
// found to be there) between the same pages of memory. That the memory may be another one since is
// harmless: a native copy is right between memories of any kind, and all that is remembered is that
// there was nothing to gain.

#include <optional>

#include "engine/call/recent_copies.h"
#include "engine/decide/decision.h"

namespace polypath::engine {

/// The properties that alike copies share.
struct CopyLikeness {
  std::uint64_t source_page = 0;
  std::uint64_t destination_page = 0;
  Bytes bytes;  ///< zero stands for every size too small to plan
  PlaceId stream_gpu;
  std::optional<Executor> executor = std::nullopt;
  bool cautious = false;

  bool operator==(const CopyLikeness&) const = default;
  [[nodiscard]] std::uint64_t hash() const {
    return (source_page * 31 + destination_page) * 31 + bytes.value +
           static_cast<std::uint64_t>(stream_gpu.value);
  }
};

/// Sizes below `smallest_planned` are all alike. Nothing for a copy that has options of its own,
/// but for the executor.
std::optional<CopyLikeness> likeness_of(const CopyCall& call, Bytes smallest_planned);

/// Not thread-safe; the engine guards it.
class RecentNatives {
 public:
  /// Why a copy went natively, and where it would again.
  struct Known {
    PlanPointer plan = nullptr;         ///< null for a size too small to plan
    Bytes native_threshold = {};        ///< and then so are all below this one
    bool always = false;                ///< whatever else is in flight
    bool alone = false;                 ///< with nothing else in flight
    BothWays both_ways = BothWays::no;  ///< and beside one as large the other way
    RecurringSet set = {};              ///< and as a part of that
    int beside_unknown = 0;             ///< so often it was not part of a set, whatever it met
    bool may_block = false;             ///< the memory was not device or pinned memory
  };

  /// Sizes from `always_planned` on are never too small to plan.
  explicit RecentNatives(Bytes always_planned) : always_planned_(always_planned) {}

  /// The entry for copies like this one; null if there is none. Counts as a use.
  [[nodiscard]] const Known* find(const CopyCall& call);
  /// Remembers a copy that was made natively, if the next one like it may go without a question.
  void remember(const Decision& decision);
  void forget(const CopyCall& call);

 private:
  static constexpr int kUntilKnown = 4;  ///< rounds until what recurs is known

  [[nodiscard]] const Known* find_plain(const CopyCall& call);
  static void note_company(const Decision& decision, Known& known);

  Bytes always_planned_;
  RecentCopies<CopyLikeness, Known> copies_;
};

}  // namespace polypath::engine
