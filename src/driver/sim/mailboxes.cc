#include "driver/sim/mailboxes.h"

#include "kernels/mailbox_layout.h"
#include "model/program.h"

namespace polypath::sim {

void Mailboxes::note_set(Address word, const Block& block, Seconds latency) {
  const auto found = exchanges_.find(Address{word.value - kMailAbandoned});
  if (found == exchanges_.end()) return;
  for (std::uint64_t bell = 0; bell < 2 * kMostMailRanks; ++bell) {
    const Address at = found->first + Bytes{kMailBells} + kFlagBytes * bell;
    for (const ActivityPointer& going : simulation_.flags.abandon(block.bytes_at(at)))
      simulation_.fluid.resume(going, latency);
  }
}

void Mailboxes::forget(Address address, const Block& block) {
  if (exchanges_.erase(address) > 0)
    simulation_.flags.forget(block.bytes_at(address + Bytes{kMailAbandoned}));
}

}  // namespace polypath::sim
