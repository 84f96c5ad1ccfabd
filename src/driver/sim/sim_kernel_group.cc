#include "driver/sim/sim_kernel_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "kernels/mailbox_layout.h"
#include "model/program.h"

namespace polypath::sim {

void SimKernelGroups::check(const KernelRequest& request) {
  const KernelGroup& group = *request.group;
  const auto mailboxes = request.memory.size() - std::min(request.memory.size(), group.mailboxes);
  if (group.rank < 0 || group.rank >= group.ranks ||
      mailboxes != static_cast<std::size_t>(group.ranks))
    fail(ErrorCode::invalid_argument,
         fmt::format("rank {} of {} cannot meet the others", group.rank, group.ranks),
         fmt::format("{} mailboxes were given", mailboxes), "Give one for each rank.");
}

FlagRequest SimKernelGroups::bell(const KernelRequest& request, int at, int from,
                                  std::uint32_t number) {
  const KernelGroup& group = *request.group;
  const KernelMemory& mailbox = request.memory[group.mailboxes + static_cast<std::size_t>(at)];
  const std::uint64_t word = (number % 2) * kMostMailRanks + static_cast<std::uint64_t>(from);
  return {.address = mailbox.address + Bytes{kMailBells} + kFlagBytes * word,
          .place = mailbox.place,
          .gpu = request.gpu,
          .value = number};
}

Address SimKernelGroups::own_mailbox(const KernelRequest& request) {
  const KernelGroup& group = *request.group;
  return request.memory[group.mailboxes + static_cast<std::size_t>(group.rank)].address;
}

ActivityPointer SimKernelGroups::make_bell_wait(const FlagRequest& bell, Address mailbox,
                                                const AwaitedFlag& awaited) {
  ActivityPointer activity = flags_.make_wait(bell, awaited);
  activity->may_go_on = [is_left = abandoned(mailbox),
                         is_rung = std::move(activity->may_go_on)](const ActivityPointer& reached) {
    return is_left() || is_rung(reached);
  };
  return activity;
}

std::function<bool()> SimKernelGroups::abandoned(Address mailbox) {
  return [this, block = memory_.block_at(mailbox), word = mailbox + Bytes{kMailAbandoned}] {
    return simulation_.flags.last_written(block->bytes_at(word)) != 0;
  };
}

GroupOrder SimKernelGroups::note(const KernelRequest& request, std::size_t thread) {
  GroupOrder order;
  for (int lap = 0; lap < request.group->laps; ++lap) order.push_back(note_lap(request, thread));
  return order;
}

// The number is that of its own mailbox's laps so far, which all ranks have as many of.
LapOrder SimKernelGroups::note_lap(const KernelRequest& request, std::size_t thread) {
  const KernelGroup& group = *request.group;
  LapOrder order{.number = mailboxes_.next_exchange(own_mailbox(request))};
  for (int other = 0; other < group.ranks; ++other)
    if (other != group.rank) order.rung.push_back(flags_.note_write(thread));
  for (int other = 0; other < group.ranks; ++other)
    if (other != group.rank) order.heard.push_back(flags_.note_wait(thread));
  return order;
}

std::vector<ActivityPointer> SimKernelGroups::make(const KernelRequest& request,
                                                   const GroupOrder& order) {
  std::vector<ActivityPointer> made;
  for (std::size_t lap = 0; lap < order.size(); ++lap) add_lap(request, order, lap, made);
  return made;
}

// Once all have been heard the second part, and the first one of the next lap.
void SimKernelGroups::add_lap(const KernelRequest& request, const GroupOrder& order,
                              std::size_t lap, std::vector<ActivityPointer>& made) {
  const KernelGroup& group = *request.group;
  const LapOrder& own = order[lap];
  std::size_t next = 0;
  for (int other = 0; other < group.ranks; ++other)
    if (other != group.rank)
      made.push_back(
          flags_.make_write(bell(request, other, group.rank, own.number), own.rung[next++], {}));
  next = 0;
  for (int other = 0; other < group.ranks; ++other)
    if (other != group.rank)
      made.push_back(make_bell_wait(bell(request, group.rank, other, own.number),
                                    own_mailbox(request), own.heard[next++]));
  made.push_back(second_part(request, lap, lap + 1 == order.size()));
}

ActivityPointer SimKernelGroups::second_part(const KernelRequest& request, std::size_t lap,
                                             bool is_last) {
  const ActivityPointer second = simulation_.make_marker();
  second->gpu = request.gpu;
  const SimKernel& kernel = kernels_.at(request.kernel);
  second->on_done = [is_left = abandoned(own_mailbox(request)),
                     exchange = kernels_.on_memory(request, kernel.after_exchange, lap),
                     first = is_last ? std::function<void(const Activity&)>{}
                                     : kernels_.on_memory(request, kernel.function, lap + 1)](
                        const Activity& done) {
    if (is_left()) return;  // else not all messages are there
    if (exchange) exchange(done);
    if (first) first(done);
  };
  return second;
}

}  // namespace polypath::sim
