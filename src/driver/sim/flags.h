#pragma once
// Words of memory that streams write and wait for.
//
// A wait ends with the first write of its value after it has been reached; if the word has the
// value already, at once. It is ordered after the write that it has seen, and nothing else orders
// it. Two things would make what is seen depend on timing, and are races: two writes of one word in
// no order, and a write in no order with a wait that has seen what it replaces.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "driver/sim/order_log.h"
#include "model/fluid.h"

namespace polypath::sim {

/// A wait for a value.
struct FlagWait {
  std::uint32_t value = 0;
  MomentPointer seen;  ///< the write that it has seen; null if the word had the value before
  MomentPointer self;  ///< the wait itself
};

class Flags {
 public:
  /// The word at `where` holds `now` where memory has contents, else what was last written.
  using Contents = std::optional<std::uint32_t>;

  /// A wait is reached. True if it goes on; else written() returns the activity later.
  bool reach(const std::byte* where, Contents now, const std::shared_ptr<FlagWait>& wait,
             const ActivityPointer& activity);
  /// The word has been written. Returns the activities that go on now. `race` says what is wrong
  /// with it.
  std::vector<ActivityPointer> written(const std::byte* where, std::uint32_t value,
                                       const MomentPointer& writer, std::string& race);
  /// The value last written to the word, for callers without contents of memory; 0 before.
  [[nodiscard]] std::uint32_t last_written(const std::byte* where) const;
  /// Ends all waits for the word. Returns the activities that go on now.
  std::vector<ActivityPointer> abandon(const std::byte* where);
  /// The memory is given back.
  void forget(const std::byte* where) { words_.erase(where); }
  /// True while an activity waits for a word.
  [[nodiscard]] bool are_awaited() const;

 private:
  struct Waiter {
    std::shared_ptr<FlagWait> wait;
    ActivityPointer activity;
  };
  struct Word {
    std::uint32_t value = 0;
    MomentPointer writer;             ///< its last writer
    std::vector<MomentPointer> seen;  ///< waits that have seen that write
    std::vector<Waiter> waiters;
  };

  static void note_seen(Word& word, FlagWait& wait);
  [[nodiscard]] static std::string race_of(const Word& word, const Moment& writer);

  std::map<const std::byte*, Word> words_;
};

}  // namespace polypath::sim
