// Kernel groups of the simulated driver. Each kernel rings a bell in every other kernel's mailbox
// when its first part is done, and waits for the others' bells: words as other flags are (flags.h),
// set to the number of the exchange. A kernel whose own mailbox is abandoned stops waiting, as on a
// GPU. There are two of each, used in turn: a kernel that rings for exchange m + 2 has heard all
// others in exchange m + 1, which had heard exchange m by then.

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "driver/sim/sim_driver.h"
#include "driver/sim/sim_graph.h"
#include "kernels/mailbox_layout.h"
#include "model/program.h"

namespace polypath::sim {

FlagRequest SimDriver::bell(const KernelRequest& request, int at, int from,
                            std::uint32_t number) const {
  const KernelGroup& group = *request.group;
  const KernelMemory& mailbox = request.memory[group.mailboxes + static_cast<std::size_t>(at)];
  const std::uint64_t word = (number % 2) * kMostMailRanks + static_cast<std::uint64_t>(from);
  return {.address = mailbox.address + Bytes{kMailBells} + kFlagBytes * word,
          .place = mailbox.place,
          .gpu = request.gpu,
          .value = number};
}

void SimDriver::check_group(const KernelRequest& request) const {
  const KernelGroup& group = *request.group;
  const auto mailboxes = request.memory.size() - std::min(request.memory.size(), group.mailboxes);
  if (group.rank < 0 || group.rank >= group.ranks ||
      mailboxes != static_cast<std::size_t>(group.ranks))
    fail(ErrorCode::invalid_argument,
         fmt::format("rank {} of {} cannot meet the others", group.rank, group.ranks),
         fmt::format("{} mailboxes were given", mailboxes), "Give one for each rank.");
}

Address SimDriver::own_mailbox(const KernelRequest& request) {
  const KernelGroup& group = *request.group;
  return request.memory[group.mailboxes + static_cast<std::size_t>(group.rank)].address;
}

ActivityPointer SimDriver::make_bell_wait(const FlagRequest& bell, Address mailbox,
                                          const AwaitedFlag& awaited) {
  ActivityPointer activity = make_wait(bell, awaited);
  activity->may_go_on = [is_left = abandoned(mailbox),
                         is_rung = std::move(activity->may_go_on)](const ActivityPointer& reached) {
    return is_left() || is_rung(reached);
  };
  return activity;
}

std::function<bool()> SimDriver::abandoned(Address mailbox) {
  return [this, block = memory_.find(mailbox), word = mailbox + Bytes{kMailAbandoned}] {
    return flags_.last_written(block->bytes_at(word)) != 0;
  };
}

// Of a word that may be any flag.
void SimDriver::abandon_mailbox(Address word, const BlockPointer& block, Seconds latency) {
  const auto found = groups_.find(Address{word.value - kMailAbandoned});
  if (found == groups_.end()) return;
  for (std::uint64_t bell = 0; bell < 2 * kMostMailRanks; ++bell) {
    const Address at = found->first + Bytes{kMailBells} + kFlagBytes * bell;
    for (const ActivityPointer& going : flags_.abandon(block->bytes_at(at)))
      fluid_.resume(going, latency);
  }
}

SimDriver::GroupOrder SimDriver::note_group(const KernelRequest& request, std::size_t thread) {
  GroupOrder order;
  for (int lap = 0; lap < request.group->laps; ++lap) order.push_back(note_lap(request, thread));
  return order;
}

// The number is that of its own mailbox's laps so far, which all ranks have as many of.
SimDriver::LapOrder SimDriver::note_lap(const KernelRequest& request, std::size_t thread) {
  const KernelGroup& group = *request.group;
  LapOrder order{.number = ++groups_[own_mailbox(request)]};
  for (int other = 0; other < group.ranks; ++other)
    if (other != group.rank) order.rung.push_back(note_write(thread));
  for (int other = 0; other < group.ranks; ++other)
    if (other != group.rank) order.heard.push_back(note_wait(thread));
  return order;
}

std::vector<ActivityPointer> SimDriver::make_group(const KernelRequest& request,
                                                   const GroupOrder& order) {
  std::vector<ActivityPointer> made;
  for (std::size_t lap = 0; lap < order.size(); ++lap) add_lap(request, order, lap, made);
  return made;
}

// Once all have been heard the second part, and the first one of the next lap.
void SimDriver::add_lap(const KernelRequest& request, const GroupOrder& order, std::size_t lap,
                        std::vector<ActivityPointer>& made) {
  const KernelGroup& group = *request.group;
  const LapOrder& own = order[lap];
  std::size_t next = 0;
  for (int other = 0; other < group.ranks; ++other)
    if (other != group.rank)
      made.push_back(
          make_write(bell(request, other, group.rank, own.number), own.rung[next++], {}));
  next = 0;
  for (int other = 0; other < group.ranks; ++other)
    if (other != group.rank)
      made.push_back(make_bell_wait(bell(request, group.rank, other, own.number),
                                    own_mailbox(request), own.heard[next++]));
  const ActivityPointer second = make_marker();
  second->gpu = request.gpu;
  const LoadedKernel& kernel = kernel_of(request.kernel);
  const bool is_last = lap + 1 == order.size();
  second->on_done =
      [is_left = abandoned(own_mailbox(request)),
       exchange = on_memory(request, kernel.after_exchange, lap),
       first = is_last ? std::function<void(const Activity&)>{}
                       : on_memory(request, kernel.function, lap + 1)](const Activity& done) {
        if (is_left()) return;  // else not all messages are there
        if (exchange) exchange(done);
        if (first) first(done);
      };
  made.push_back(second);
}

}  // namespace polypath::sim
