#pragma once
// The mailboxes of kernels that meet others: how many exchanges each has had, and that it may be
// abandoned (kernels/mailbox_layout.h).

#include <cstdint>
#include <map>

#include "driver/sim/memory.h"
#include "driver/sim/simulation.h"

namespace polypath::sim {

class Mailboxes {
 public:
  explicit Mailboxes(Simulation& simulation) : simulation_(simulation) {}

  /// The number of the mailbox's next exchange, from 1.
  [[nodiscard]] std::uint32_t next_exchange(Address mailbox) { return ++exchanges_[mailbox]; }
  /// A word has been set, which may be any flag. If it says that a mailbox is abandoned, all that
  /// waits for the mailbox's bells goes on later by `latency`.
  void note_set(Address word, const Block& block, Seconds latency);
  /// The allocation, which may be a mailbox, is freed.
  void forget(Address address, const Block& block);

 private:
  Simulation& simulation_;
  std::map<Address, std::uint32_t> exchanges_;  ///< so far
};

}  // namespace polypath::sim
