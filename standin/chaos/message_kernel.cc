#include "standin/chaos/message_kernel.h"

#include <atomic>
#include <cstring>
#include <utility>

#include "standin/state/pass_kernel.h"

namespace polypath::standin::chaos {
namespace {

std::vector<std::byte*> pointers_to(const std::vector<Place>& memory) {
  std::vector<std::byte*> pointers;
  for (const Place& place : memory) pointers.push_back(place.bytes);
  return pointers;
}

}  // namespace

MessageKernel::MessageKernel(const KernelWork& kernel, std::vector<Place> memory)
    : memory_(std::move(memory)), messages_(kernel.words, pointers_to(memory_)) {}

JobState MessageKernel::step(Chance&) {
  return messages_.step() ? JobState::done : JobState::not_yet;
}

std::vector<std::uint64_t> PassKernel::memory_of(const KernelWork& kernel) {
  return {kernel.words.begin() + kPassSource, kernel.words.begin() + kPassWords};
}

JobState PassKernel::step(Chance&) {
  const auto at = [&](PassWord word) { return memory_[word - kPassSource].bytes; };
  const auto flag = [&](PassWord word) {
    return std::atomic_ref(*reinterpret_cast<std::uint32_t*>(at(word)));
  };
  if (flag(kPassAwaited).load() < words_[kPassAwaits]) return JobState::not_yet;
  std::memcpy(at(kPassDestination), at(kPassSource), words_[kPassBytes]);
  flag(kPassSignal).store(static_cast<std::uint32_t>(words_[kPassSignals]));
  return JobState::done;
}

}  // namespace polypath::standin::chaos
