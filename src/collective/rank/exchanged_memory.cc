#include "collective/rank/exchanged_memory.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "core/error.h"
#include "core/ignore_errors.h"

namespace polypath::collective {
namespace {

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

ExchangedMemory::~ExchangedMemory() {
  for (const auto& each : opened_) ignore_errors([&] { driver_.release_import(each.second); });
  for (const Address address : own_) ignore_errors([&] { driver_.free(address); });
}

Address ExchangedMemory::make(PlaceId place, Bytes bytes) {
  own_.reserve(own_.size() + 1);
  own_.push_back(driver_.allocate_shareable(place, bytes));
  return own_.back();
}

Address ExchangedMemory::make_zeros(PlaceId place, Bytes bytes) {
  own_.reserve(own_.size() + 1);
  own_.push_back(driver_.allocate_zeros(place, bytes));
  return own_.back();
}

void ExchangedMemory::exchange(const std::vector<Address>& own) {
  std::vector<ExportedMemory> exported;
  for (const Address address : own) exported.push_back(driver_.export_memory(address));
  const std::vector<ExportedMemory> all = all_gather_(packed(exported));
  if (all.size() != handed_.size())
    fail(ErrorCode::invalid_argument, "the exchange between ranks has failed",
         fmt::format("{} answers came from {} ranks", all.size(), handed_.size()),
         "Give one that returns what every rank has passed.");
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    for (ExportedMemory& memory : unpacked(all[rank])) handed_[rank].push_back(std::move(memory));
}

Address ExchangedMemory::open(int owner, std::size_t number) {
  if (owner == rank_) return own_[number];
  const auto [found, is_new] = opened_.try_emplace({owner, number});
  if (!is_new) return found->second;
  try {
    const auto& memory = handed_[static_cast<std::size_t>(owner)][number];
    return found->second = import_of_rank(driver_, owner, memory, gpu_);
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

Address ExchangedMemory::known(int owner, std::size_t number) const {
  if (owner == rank_) return own_[number];
  const auto found = opened_.find({owner, number});
  return found == opened_.end() ? Address{} : found->second;
}

}  // namespace polypath::collective
