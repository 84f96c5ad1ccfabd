#include "collective/rank/rank_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "collective/program/mail.h"
#include "collective/program/tuning.h"
#include "core/error.h"

namespace polypath::collective {
namespace {

constexpr int kSlotsPerHop = kPieceSlots + kStagingSlots;
constexpr std::size_t kFlags = 0;  // the number of every rank's

std::set<int> used_buffers(const Program& program) {
  std::set<int> used;
  for (const Node& node : program.nodes()) {
    if (node.operation == Operation::kernel) {
      for (const Access& access : program.call_of(node).memory) used.insert(access.slice.buffer);
      continue;
    }
    used.insert(node.destination.buffer);
    if (!is_flag(node.operation)) used.insert(node.source.buffer);
  }
  return used;
}

// Behind a slot lies the next one, which others fill and read meanwhile.
void check_slots(const RankPart& part, Bytes slot) {
  std::set<int> scratch;
  for (const ScratchUse& use : part.scratch) scratch.insert(use.buffer);
  const auto check = [&](const Slice& slice, Bytes bytes) {
    if (slice.offset + bytes > slot && scratch.contains(slice.buffer))
      fail(ErrorCode::internal, "a program reaches beyond a staging slot",
           fmt::format("to byte {} of {}", (slice.offset + bytes).value, slot.value));
  };
  for (const Node& node : part.program.nodes()) {
    if (is_flag(node.operation)) continue;
    if (node.operation == Operation::kernel) {
      for (const Access& access : part.program.call_of(node).memory)
        check(access.slice, access.bytes);
      continue;
    }
    check(node.source, node.bytes);
    check(node.destination, node.bytes);
  }
}

}  // namespace

RankMemory::RankMemory(Driver& driver, const std::vector<PlaceId>& ranks, int rank,
                       const RankMemorySizes& sizes, AllGather all_gather)
    : gpu_(ranks[static_cast<std::size_t>(rank)]),
      rank_(rank),
      ranks_(static_cast<int>(ranks.size())),
      slot_(sizes.slot),
      exchanged_(driver, gpu_, rank, ranks.size(), std::move(all_gather)),
      awaited_(make_flags(driver, sizes)) {
  exchanged_.exchange({awaited_.flags()});
}

AwaitedWords RankMemory::make_flags(Driver& driver, const RankMemorySizes& sizes) {
  const PlaceId place = sizes.flags.valid() ? sizes.flags : gpu_;
  const Bytes bytes = flag_offset(ranks_, 0, sizes.flags_per_pair);
  return {driver, gpu_, exchanged_.make_zeros(place, bytes), bytes, place};
}

// The program determines the memory that each rank will hand out, so all ranks know its layout: for
// each place the slots of its hops, in their order.
void RankMemory::place_slots(const Machine& machine, const std::vector<ScratchUse>& scratch) {
  std::map<std::tuple<int, PlaceId>, std::set<HopId>> wanted;  // by owner and place
  for (const ScratchUse& use : scratch)
    if (!slots_.contains(use.filled_over))
      wanted[{use.owner, machine.hop(use.filled_over).destination}].insert(use.filled_over);
  if (wanted.empty()) return;
  std::vector<Address> made;
  std::vector<std::size_t> next;
  for (int rank = 0; rank < ranks_; ++rank) next.push_back(exchanged_.next(rank));
  for (const auto& [where, hops] : wanted) {
    const auto [owner, place] = where;
    const std::size_t number = next[static_cast<std::size_t>(owner)]++;
    Bytes offset;
    for (const HopId hop : hops) {
      slots_[hop] = {owner, number, offset};
      offset += slot_ * static_cast<std::uint64_t>(kSlotsPerHop);
    }
    if (owner == rank_) made.push_back(exchanged_.make(place, offset));
  }
  exchanged_.exchange(made);
}

void RankMemory::place_mailboxes(const RankPart& part) {
  if (part.mailbox.value == 0 || mailboxes_.contains(part.mailbox)) return;
  const Address mailbox = exchanged_.make_zeros(gpu_, part.mailbox);
  for (int rank = 0; rank < ranks_; ++rank)
    mailboxes_[part.mailbox].push_back(exchanged_.next(rank));
  awaited_.add_mailbox(mailbox);
  exchanged_.exchange({mailbox});
}

void RankMemory::prepare(const Machine& machine, const RankPart& part) {
  check_slots(part, slot_);
  place_mailboxes(part);
  place_slots(machine, part.scratch);
  const std::set<int> used = used_buffers(part.program);
  for (int rank = 0; rank < ranks_; ++rank)
    if (used.contains(part.first_flags + rank)) (void)exchanged_.open(rank, kFlags);
  for (int rank = 0; rank < ranks_; ++rank)
    if (used.contains(part.first_mailbox + rank) && part.mailbox.value > 0)
      (void)exchanged_.open(rank, mailboxes_.at(part.mailbox)[static_cast<std::size_t>(rank)]);
  for (const ScratchUse& use : part.scratch) {
    const Slots& slots = slots_.at(use.filled_over);
    if (used.contains(use.buffer)) (void)exchanged_.open(slots.owner, slots.number);
  }
}

bool RankMemory::has_all_for(const RankPart& part) const {
  const bool has_mailbox = part.mailbox.value == 0 || mailboxes_.contains(part.mailbox);
  return has_mailbox && std::all_of(part.scratch.begin(), part.scratch.end(), [&](const auto& use) {
           return slots_.contains(use.filled_over);
         });
}

std::vector<Address> RankMemory::addresses(const RankPart& part,
                                           std::span<const Address> callers) const {
  if (static_cast<int>(callers.size()) != part.first_mailbox)
    fail(ErrorCode::invalid_argument, fmt::format("{} memories cannot be used", callers.size()),
         fmt::format("the program has {}", part.first_mailbox), "Pass one for each.");
  std::vector<Address> all;
  all.reserve(part.program.buffers().size());
  all.assign(callers.begin(), callers.end());
  for (int rank = 0; rank < part.first_flags - part.first_mailbox; ++rank)
    all.push_back(
        exchanged_.known(rank, mailboxes_.at(part.mailbox)[static_cast<std::size_t>(rank)]));
  for (int rank = 0; rank < ranks_; ++rank) all.push_back(exchanged_.known(rank, kFlags));
  all.resize(part.program.buffers().size());
  for (const ScratchUse& use : part.scratch) {
    const Slots& slots = slots_.at(use.filled_over);
    const Address base = exchanged_.known(slots.owner, slots.number);
    if (base.value == 0) continue;
    all[static_cast<std::size_t>(use.buffer)] =
        base + slots.offset + slot_ * static_cast<std::uint64_t>(use.slot);
  }
  return all;
}

}  // namespace polypath::collective
