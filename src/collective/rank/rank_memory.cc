#include "collective/rank/rank_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "collective/program/mail.h"
#include "collective/program/tuning.h"
#include "core/error.h"
#include "core/ignore_errors.h"

namespace polypath {
namespace {

constexpr int kSlotsPerHop = kPieceSlots + kStagingSlots;
constexpr std::size_t kFlags = 0;  // the first memory of every rank

// Several memories as one message: each after its size.
ExportedMemory packed(const std::vector<ExportedMemory>& memories) {
  ExportedMemory message;
  for (const ExportedMemory& memory : memories) {
    const auto size = static_cast<std::uint32_t>(memory.size());
    const auto* const begin = reinterpret_cast<const std::byte*>(&size);
    message.insert(message.end(), begin, begin + sizeof size);
    message.insert(message.end(), memory.begin(), memory.end());
  }
  return message;
}

std::vector<ExportedMemory> unpacked(const ExportedMemory& message) {
  std::vector<ExportedMemory> memories;
  for (std::size_t at = 0; at < message.size();) {
    std::uint32_t size = 0;
    if (message.size() - at >= sizeof size) std::memcpy(&size, &message[at], sizeof size);
    at += sizeof size;
    if (at + size > message.size())
      fail(ErrorCode::invalid_argument, "what another rank has sent cannot be read",
           "it ends too early", "Let all ranks run the same version.");
    const auto begin = message.begin() + static_cast<std::ptrdiff_t>(at);
    memories.emplace_back(begin, begin + size);
    at += size;
  }
  return memories;
}

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

AllGather all_gather_by(Communicator& communicator) {
  return [&communicator](const ExportedMemory& own) {
    const auto* const begin = reinterpret_cast<const char*>(own.data());
    std::vector<ExportedMemory> all;
    for (const Blob& each : communicator.all_gather({begin, begin + own.size()})) {
      const auto* const bytes = reinterpret_cast<const std::byte*>(each.data());
      all.emplace_back(bytes, bytes + each.size());
    }
    return all;
  };
}

RankMemory::RankMemory(Driver& driver, std::vector<PlaceId> ranks, int rank,
                       const RankMemorySizes& sizes, AllGather all_gather)
    : driver_(driver),
      ranks_(std::move(ranks)),
      rank_(rank),
      sizes_(sizes),
      all_gather_(std::move(all_gather)),
      handed_(ranks_.size()) {
  try {
    flags_ = make_zeros(flags_at(), flag_bytes());
    exchange({flags_});
  } catch (...) {
    give_back();
    throw;
  }
}

RankMemory::~RankMemory() { give_back(); }

void RankMemory::give_back() noexcept {
  for (const auto& each : opened_) ignore_errors([&] { driver_.release_import(each.second); });
  for (const Address address : own_) ignore_errors([&] { driver_.free(address); });
}

Bytes RankMemory::flag_bytes() const {
  return flag_offset(static_cast<int>(ranks_.size()), 0, sizes_.flags_per_pair);
}

Address RankMemory::make(PlaceId place, Bytes bytes) {
  own_.reserve(own_.size() + 1);
  own_.push_back(driver_.allocate_shareable(place, bytes));
  return own_.back();
}

Address RankMemory::make_zeros(PlaceId place, Bytes bytes) {
  own_.reserve(own_.size() + 1);
  own_.push_back(driver_.allocate_zeros(place, bytes));
  return own_.back();
}

// In no stream: it would wait behind what waits for the flags.
void RankMemory::set_flags() {
  std::vector<Address> mailboxes;
  {
    const std::scoped_lock lock(mutex_);
    mailboxes = own_mailboxes_;
  }
  for (Bytes offset; offset < flag_bytes(); offset += kFlagBytes)
    driver_.signal(flags_ + offset, flags_at(), 1);
  for (const Address mailbox : mailboxes) driver_.signal(mailbox + Bytes{kMailAbandoned}, gpu(), 1);
}

void RankMemory::exchange(const std::vector<Address>& own) {
  std::vector<ExportedMemory> exported;
  for (const Address address : own) exported.push_back(driver_.export_memory(address));
  const std::vector<ExportedMemory> all = all_gather_(packed(exported));
  if (all.size() != ranks_.size())
    fail(ErrorCode::invalid_argument, "the exchange between ranks has failed",
         fmt::format("{} answers came from {} ranks", all.size(), ranks_.size()),
         "Give one that returns what every rank has passed.");
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    for (ExportedMemory& memory : unpacked(all[rank])) handed_[rank].push_back(std::move(memory));
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
  for (const auto& handed : handed_) next.push_back(handed.size());
  for (const auto& [where, hops] : wanted) {
    const auto [owner, place] = where;
    const std::size_t number = next[static_cast<std::size_t>(owner)]++;
    Bytes offset;
    for (const HopId hop : hops) {
      slots_[hop] = {owner, number, offset};
      offset += sizes_.slot * static_cast<std::uint64_t>(kSlotsPerHop);
    }
    if (owner == rank_) made.push_back(make(place, offset));
  }
  exchange(made);
}

void RankMemory::place_mailboxes(const RankPart& part) {
  if (part.mailbox.value == 0 || mailboxes_.contains(part.mailbox)) return;
  const Address mailbox = make_zeros(gpu(), part.mailbox);
  for (const auto& handed : handed_) mailboxes_[part.mailbox].push_back(handed.size());
  {
    const std::scoped_lock lock(mutex_);
    own_mailboxes_.push_back(mailbox);
  }
  exchange({mailbox});
}

void RankMemory::prepare(const Machine& machine, const RankPart& part) {
  check_slots(part, sizes_.slot);
  place_mailboxes(part);
  place_slots(machine, part.scratch);
  const std::set<int> used = used_buffers(part.program);
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank)
    if (used.contains(part.first_flags + rank)) (void)open(rank, kFlags);
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank)
    if (used.contains(part.first_mailbox + rank) && part.mailbox.value > 0)
      (void)open(rank, mailboxes_.at(part.mailbox)[static_cast<std::size_t>(rank)]);
  for (const ScratchUse& use : part.scratch) {
    const Slots& slots = slots_.at(use.filled_over);
    if (used.contains(use.buffer)) (void)open(slots.owner, slots.number);
  }
}

bool RankMemory::has_all_for(const RankPart& part) const {
  const bool has_mailbox = part.mailbox.value == 0 || mailboxes_.contains(part.mailbox);
  return has_mailbox && std::all_of(part.scratch.begin(), part.scratch.end(), [&](const auto& use) {
           return slots_.contains(use.filled_over);
         });
}

Address RankMemory::open(int owner, std::size_t number) {
  if (owner == rank_) return own_[number];
  const auto [found, is_new] = opened_.try_emplace({owner, number});
  if (!is_new) return found->second;
  try {
    const auto& memory = handed_[static_cast<std::size_t>(owner)][number];
    return found->second = import_of_rank(driver_, owner, memory, gpu());
  } catch (...) {
    opened_.erase(found);
    throw;
  }
}

Address import_of_rank(Driver& driver, int owner, const ExportedMemory& memory, PlaceId gpu) {
  try {
    return driver.import_memory(memory, gpu);
  } catch (const Error& error) {
    throw Error(error.code(),
                fmt::format("memory of rank {} cannot be opened: {}", owner, error.what()));
  }
}

Address RankMemory::known(int owner, std::size_t number) const {
  if (owner == rank_) return own_[number];
  const auto found = opened_.find({owner, number});
  return found == opened_.end() ? Address{} : found->second;
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
    all.push_back(known(rank, mailboxes_.at(part.mailbox)[static_cast<std::size_t>(rank)]));
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank)
    all.push_back(known(rank, kFlags));
  all.resize(part.program.buffers().size());
  for (const ScratchUse& use : part.scratch) {
    const Slots& slots = slots_.at(use.filled_over);
    const Address base = known(slots.owner, slots.number);
    if (base.value == 0) continue;
    all[static_cast<std::size_t>(use.buffer)] =
        base + slots.offset + sizes_.slot * static_cast<std::uint64_t>(use.slot);
  }
  return all;
}

}  // namespace polypath
