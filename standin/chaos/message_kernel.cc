#include "standin/chaos/message_kernel.h"

#include <atomic>
#include <cstring>
#include <utility>

#include "standin/state/pass_kernel.h"

namespace polypath::standin::chaos {
namespace {

// Pieces of long messages are slow beyond doubt, so that a comparison comes out the same on any
// computer.
constexpr std::uint64_t kLong = 64 << 10;
constexpr int kLooks = 50;

std::vector<std::byte*> pointers_to(const std::vector<Place>& memory) {
  std::vector<std::byte*> pointers;
  for (const Place& place : memory) pointers.push_back(place.bytes);
  return pointers;
}

}  // namespace

MessageKernel::MessageKernel(const KernelWork& kernel, std::vector<Place> memory)
    : memory_(std::move(memory)), messages_(kernel.words, pointers_to(memory_)) {}

// The program may free a message's memory once its end of that message is over, and close the
// communicator, while the kernel waits for others.
JobState MessageKernel::step(Chance&) {
  const bool is_over = messages_.step([&](std::size_t at) { memory_[at].let_go(); });
  return is_over ? JobState::done : JobState::not_yet;
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
  if (words_[kPassBytes] >= kLong && ++looks_ < kLooks) return JobState::not_yet;
  std::memcpy(at(kPassDestination), at(kPassSource), words_[kPassBytes]);
  for (const PassWord word : {kPassSource, kPassDestination, kPassSignal})
    memory_[word - kPassSource].let_go();  // the other end may free it once it knows
  flag(kPassSignal).store(static_cast<std::uint32_t>(words_[kPassSignals]));
  return JobState::done;
}

}  // namespace polypath::standin::chaos
