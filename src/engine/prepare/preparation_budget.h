#pragma once
// Whether a preparation in the background for copies by plan pays.
//
// Background preparation holds up calls of the program: peer access for 1.2 ms, pinned memory for 1
// ms, staging memory and streams for 0.7 ms (results/h200x2/driver_behaviour.json); other delays
// were not measured. The price, a setting, is by default about twice that. A program that pays as
// soon as it has missed that much never loses more than twice what the best choice, made with
// knowledge of the future, would have lost. A program that has copied for ten times as long loses
// no more than a twentieth of its time.

#include <atomic>

#include "core/settings.h"
#include "driver/driver.h"
#include "machine/machine.h"
#include "plan/plan.h"

namespace polypath::engine {

/// A program that has allocated memory is taken to go on with it for so long. The tensors of a
/// state_dict come 1.2 ms apart on an H200; those that are read from a disk meanwhile, further.
inline constexpr Seconds kStillAllocates = 50'000_us;

/// Not thread-safe but for note_allocation(); the engine guards it.
class PreparationBudget {
 public:
  PreparationBudget(Driver& driver, const Machine& machine, const Settings& settings)
      : driver_(driver), machine_(machine), settings_(settings) {}

  /// So many copies have gone without the plan. True if they and those before them have missed the
  /// price of preparing it; then counting starts anew. `put_off` is the number of contexts, on GPUs
  /// of other processes, that all of the plan waits for.
  [[nodiscard]] bool pays(const Plan& plan, int copies, int put_off = 0);
  /// The program allocates memory: contexts are dearer for a while.
  void note_allocation() noexcept { last_allocation_.store(driver_.now().value); }

 private:
  [[nodiscard]] Seconds price_of(const Plan& plan) const;

  Driver& driver_;
  const Machine& machine_;
  const Settings& settings_;
  std::atomic<double> last_allocation_{-1e9};  ///< of the program, by the driver's clock
  Seconds missed_;  ///< what copies would have gained since the last preparation began
  Seconds copied_;  ///< what they took instead
};

}  // namespace polypath::engine
