#pragma once
// How much more than their capacity resources with a burst (Resource::burst) carry now.
//
// A cache in front of a memory takes in writes at its own rate B, while it flows off to the memory
// at C. So a resource has credit L, S bytes of it after a rest. While it has any, copies share B of
// it, and then C. With x = Σ w·rate of all that uses it,
//
//   dL/dt = C − x,   0 <= L <= S,   x <= B if L > 0, else x <= C
//
// From a rest on, credit lasts S/(B − C) at rate B. So it carries by time t at most
//
//   min(B·t, S + C·t)
//
// which are two rows of the share program (share_problem.h) in place of one. Where x <= C all the
// time, nothing tells the resource from one without burst. A resource without credit whose copies
// take less than C has it back little by little; they were held back by something else, so their
// rates stay as they are.

#include <span>
#include <vector>

#include "core/ids.h"
#include "core/units.h"
#include "machine/machine.h"

namespace polypath::model {

/// The credit of a machine's resources over time. All of it is there at first.
class BurstCredit {
 public:
  /// Indexed by resource; those without burst keep their capacity.
  explicit BurstCredit(std::span<const Capacity> capacities);

  [[nodiscard]] bool empty() const { return accounts_.empty(); }
  /// Resources whose credit is used up, in order.
  [[nodiscard]] const std::vector<ResourceId>& spent() const { return spent_; }

  /// From now on nothing is taken; then what each flow takes at its rate.
  void take_nothing();
  void take(std::span<const Use> uses, double rate);
  /// How long it goes on like that until the first resource's credit is used up.
  [[nodiscard]] Seconds lasts() const;
  /// Time passes. True if something has used up its credit by that.
  bool pass(Seconds duration);

 private:
  struct Account {
    ResourceId resource;
    Capacity capacity;
    double left = 0;   ///< L
    double taken = 0;  ///< x
  };
  std::vector<Account> accounts_;
  std::vector<ResourceId> spent_;
};

/// How long a machine rests until all credit is back, from any state.
Seconds rest_of(const Machine& machine);

/// The rate of each resource that copies share now: its capacity if it is among `spent`, else its
/// burst.
std::vector<Capacity> capacities_now(std::span<const Capacity> capacities,
                                     std::span<const ResourceId> spent);

}  // namespace polypath::model
