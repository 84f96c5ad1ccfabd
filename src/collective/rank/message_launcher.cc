#include "collective/rank/message_launcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "collective/rank/exchanged_memory.h"
#include "core/ignore_errors.h"
#include "core/note_problem.h"
#include "kernels/messages.h"

namespace polypath::collective {
namespace {

constexpr Bytes kWord{sizeof(std::uint32_t)};
constexpr std::uint64_t kOfBlock = 128 << 10;  // a block has so much to do at least

KernelMemory part(Address address, PlaceId place, Bytes bytes, bool writes) {
  return {.address = address, .place = place, .bytes = bytes, .writes = writes};
}

}  // namespace

MessageLauncher::MessageLauncher(Driver& driver, const std::vector<PlaceId>& gpus,
                                 Communicator& communicator, unsigned multiprocessors)
    : driver_(driver),
      gpus_(gpus),
      rank_(communicator.rank()),
      multiprocessors_(std::max(multiprocessors, 2U)),
      states_(gpus.size()) {
  try {
    exchange(communicator);
  } catch (...) {
    give_back();
    throw;
  }
}

MessageLauncher::~MessageLauncher() { give_back(); }

void MessageLauncher::give_back() noexcept {
  if (kernel_.value != 0) ignore_errors([&] { driver_.unload_kernel(kernel_); });
  for (int rank = 0; rank < static_cast<int>(states_.size()); ++rank) {
    const Address state = states_[static_cast<std::size_t>(rank)];
    if (state.value == 0) continue;
    if (rank == rank_) ignore_errors([&] { driver_.free(state); });
    else ignore_errors([&] { driver_.release_import(state); });
  }
}

// A group has as many messages as there are flags, and one launch of copies within the rank.
Bytes MessageLauncher::state_bytes() const {
  return {message_state_bytes(1 + 2 * (gpus_.size() - 1) * kMessageFlags / kMostMessages)};
}

ExportedMemory MessageLauncher::make_own() {
  kernel_ = driver_.load_kernel(gpu_of(rank_), messages_kernel());
  Address& own = states_[static_cast<std::size_t>(rank_)];
  own = driver_.allocate_zeros(gpu_of(rank_),
                               state_bytes() + message_flag_bytes(static_cast<int>(gpus_.size())));
  return driver_.export_memory(own);
}

// All ranks have what they need, or none goes on, and none gives its memory back before.
void MessageLauncher::exchange(Communicator& communicator) {
  std::string problem;
  ExportedMemory own;
  note_problem(problem, [&] { own = make_own(); });
  const auto all = all_gather_by(communicator)(own);
  note_problem(problem, [&] { import_others(all); });
  check_at_all_ranks(communicator, problem);
}

// A rank that has failed hands out nothing.
void MessageLauncher::import_others(const std::vector<ExportedMemory>& all) {
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    if (const auto number = static_cast<int>(rank); number != rank_ && !all[rank].empty())
      states_[rank] = import_of_rank(driver_, number, all[rank], gpu_of(rank_));
}

Address MessageLauncher::flags_of(int rank) const {
  return states_[static_cast<std::size_t>(rank)] + state_bytes();
}

void MessageLauncher::launch(std::span<const MessageTask> tasks, const Group& group,
                             StreamHandle stream) const {
  const PlaceId gpu = gpu_of(rank_);
  std::vector<MessageValues> values;
  std::vector<KernelMemory> memory{
      part(states_[static_cast<std::size_t>(rank_)], gpu, state_bytes(), true)};
  std::size_t copies = 0;
  Bytes largest{1};
  for (const MessageTask& each : tasks) {
    values.push_back({.bytes = each.bytes, .value = each.value});
    if (each.copies) {
      ++copies, largest = std::max(largest, each.bytes);
      memory.push_back(part(each.source, each.source_place, each.bytes, false));
      memory.push_back(part(each.destination, each.destination_place, each.bytes, true));
    }
    memory.push_back(part(each.signal, gpu_of(each.peer), kWord, true));
    memory.push_back(part(each.awaited, gpu, kWord, false));
  }
  const unsigned blocks = blocks_of_copy(group.copies, largest);
  driver_.run({.kernel = kernel_,
               .gpu = gpu,
               .memory = std::move(memory),
               .values = message_values(copies, values, blocks, group.number),
               .shape = message_shape(copies, blocks)},
              stream);
}

// One block has the waits.
unsigned MessageLauncher::blocks_of_copy(std::size_t copies, Bytes largest) const {
  const std::uint64_t useful = (largest.value + kOfBlock - 1) / kOfBlock;
  const std::uint64_t all = multiprocessors_ - 1;
  return static_cast<unsigned>(
      std::clamp<std::uint64_t>(all / std::max<std::size_t>(copies, 1), 1, useful));
}

// In no stream: it would wait behind what waits for it.
void MessageLauncher::abandon() {
  driver_.signal(states_[static_cast<std::size_t>(rank_)] + Bytes{4 * kMessagesAbandoned},
                 gpu_of(rank_), 1);
}

}  // namespace polypath::collective
