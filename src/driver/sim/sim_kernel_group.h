#pragma once
// Kernel groups of the simulated driver. Each kernel rings a bell in every other kernel's mailbox
// when its first part is done, and waits for the others' bells: words as other flags are (flags.h),
// set to the number of the exchange. A kernel whose own mailbox is abandoned stops waiting, as on a
// GPU. There are two of each, used in turn: a kernel that rings for exchange m + 2 has heard all
// others in exchange m + 1, which had heard exchange m by then.

#include <cstdint>
#include <functional>
#include <vector>

#include "driver/sim/mailboxes.h"
#include "driver/sim/sim_flag.h"
#include "driver/sim/sim_kernel.h"
#include "driver/sim/sim_memory.h"
#include "driver/sim/simulation.h"

namespace polypath::sim {

/// Where one lap of a kernel that meets others stands in the order of things.
struct LapOrder {
  std::uint32_t number = 0;
  std::vector<MomentPointer> rung = {};  ///< by rank, but for its own
  std::vector<AwaitedFlag> heard = {};   ///< the same
};
using GroupOrder = std::vector<LapOrder>;

class SimKernelGroups {
 public:
  SimKernelGroups(Simulation& simulation, const SimMemory& memory, const SimKernels& kernels,
                  SimFlags& flags, Mailboxes& mailboxes)
      : simulation_(simulation),
        memory_(memory),
        kernels_(kernels),
        flags_(flags),
        mailboxes_(mailboxes) {}

  /// Error (invalid_argument) unless there is a mailbox for each rank.
  static void check(const KernelRequest& request);
  /// The logical thread runs it.
  GroupOrder note(const KernelRequest& request, std::size_t thread);
  /// What comes after the kernel's first part, in this order.
  std::vector<ActivityPointer> make(const KernelRequest& request, const GroupOrder& order);

 private:
  [[nodiscard]] static FlagRequest bell(const KernelRequest& request, int at, int from,
                                        std::uint32_t number);
  [[nodiscard]] static Address own_mailbox(const KernelRequest& request);
  LapOrder note_lap(const KernelRequest& request, std::size_t thread);
  /// Says whether it is, each time that it is asked.
  std::function<bool()> abandoned(Address mailbox);
  ActivityPointer make_bell_wait(const FlagRequest& bell, Address mailbox,
                                 const AwaitedFlag& awaited);
  void add_lap(const KernelRequest& request, const GroupOrder& order, std::size_t lap,
               std::vector<ActivityPointer>& made);
  ActivityPointer second_part(const KernelRequest& request, std::size_t lap, bool is_last);

  Simulation& simulation_;
  const SimMemory& memory_;
  const SimKernels& kernels_;
  SimFlags& flags_;
  Mailboxes& mailboxes_;
};

}  // namespace polypath::sim
