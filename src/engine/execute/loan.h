#pragma once
// For which stream of the program a lane works, and what of it may still wait for that stream.

#include <cstddef>
#include <optional>

#include "driver/driver.h"

namespace polypath::engine {

class Loan {
 public:
  explicit Loan(Driver& driver) : driver_(driver) {}

  void lend_to(StreamHandle borrower) { borrower_ = borrower; }
  [[nodiscard]] bool is_of(StreamHandle stream) const { return borrower_ == stream; }
  /// What is queued in the lane from here on waits for `started`, of the borrower's stream.
  void start_after(EventHandle started) { started_ = started; }
  /// True if nothing in the lane waits for the borrower any more.
  [[nodiscard]] bool has_started() const;

  /// The next transfer may be held in the borrower's stream, of which it takes so many entries.
  /// False if that stream has been given as many of ours as it may have while it is held: a
  /// driver's stream takes so many, and the program counts on them (H200: 1021,
  /// results/h200x2/driver_behaviour.json).
  [[nodiscard]] bool may_hold(std::size_t entries);
  /// True if work in the lane may wait for the program in another stream than this one.
  [[nodiscard]] bool is_held_beside(StreamHandle stream);

 private:
  Driver& driver_;
  std::optional<StreamHandle> borrower_;  ///< the last one
  EventHandle started_;                   ///< none before the first transfer
  bool held_ = false;                     ///< what comes before `started_` may wait for the program
  std::size_t entries_while_held_ = 0;    ///< of ours in the borrower's stream
};

}  // namespace polypath::engine
