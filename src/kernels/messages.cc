#include "kernels/messages.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "kernels/images.h"

namespace polypath::kernels {
namespace {

std::atomic_ref<std::uint32_t> flag(std::byte* at) {
  return std::atomic_ref(*reinterpret_cast<std::uint32_t*>(at));
}

std::uint64_t tasks_of(std::span<const std::uint64_t> words) {
  return words[kMessageCopies] + words[kMessageWaits];
}

}  // namespace

Kernel messages_kernel() {
  return {.name = "messages",
          .image = std::string(kernel_image("messages")),
          .on_host = {},
          .parameters = kMostMessageWords};
}

std::vector<std::uint64_t> message_values(std::size_t copies, std::span<const MessageValues> tasks,
                                          unsigned blocks_of_copy, std::uint64_t launch) {
  std::vector<std::uint64_t> values{copies, tasks.size() - copies, blocks_of_copy,
                                    copy_counter(launch)};
  for (const MessageValues& each : tasks) {
    values.push_back(each.bytes.value);
    values.push_back(each.value);
  }
  return values;
}

LaunchShape message_shape(std::size_t copies, unsigned blocks_of_copy) {
  return {.blocks = 1 + static_cast<unsigned>(copies) * blocks_of_copy,
          .threads_per_block = kMessageThreads};
}

HostMessages::HostMessages(std::vector<std::uint64_t> words, std::vector<std::byte*> memory)
    : words_(std::move(words)),
      memory_(std::move(memory)),
      begun_(tasks_of(words_)),
      done_(tasks_of(words_)) {}

std::vector<std::uint64_t> HostMessages::memory_of(std::span<const std::uint64_t> words) {
  const std::uint64_t copies = words[kMessageCopies], waits = words[kMessageWaits];
  const auto from = words.begin() + static_cast<std::ptrdiff_t>(state_word(copies + waits));
  const auto to = words.begin() + static_cast<std::ptrdiff_t>(wait_word(copies, waits, waits));
  return {from, to};
}

std::size_t HostMessages::index_of(std::uint64_t word) const {
  return word - state_word(tasks_of(words_));
}

bool HostMessages::step(const LetGo& let_go) {
  const std::uint64_t copies = words_[kMessageCopies];
  if (flag(at(state_word(tasks_of(words_))) + 4 * kMessagesAbandoned).load() != 0) return true;
  for (std::uint64_t task = 0; task < done_.size(); ++task)
    if (!done_[task]) done_[task] = task < copies ? copy(task, let_go) : wait(task, copies, let_go);
  return std::ranges::all_of(done_, [](bool is_done) { return is_done; });
}

bool HostMessages::copy(std::uint64_t task, const LetGo& let_go) {
  const std::uint64_t first = copy_word(tasks_of(words_), task);
  const auto value = static_cast<std::uint32_t>(words_[value_word(task)]);
  std::byte* const awaited = at(first + kCopyAwaited);
  if (awaited != nullptr && !is_signalled(flag(awaited).load(std::memory_order_acquire), value))
    return false;
  std::memcpy(at(first + kCopyDestination), at(first + kCopySource), words_[bytes_word(task)]);
  let_go(index_of(first + kCopySource)), let_go(index_of(first + kCopyDestination));
  signal(first + kCopySignal, value, let_go);
  return true;
}

bool HostMessages::wait(std::uint64_t task, std::uint64_t copies, const LetGo& let_go) {
  const std::uint64_t first = wait_word(copies, words_[kMessageWaits], task - copies);
  const auto value = static_cast<std::uint32_t>(words_[value_word(task)]);
  if (!begun_[task]) signal(first + kWaitSignal, value, let_go);
  begun_[task] = true;
  return is_signalled(flag(at(first + kWaitAwaited)).load(std::memory_order_acquire), value);
}

// A copy within a rank has none.
void HostMessages::signal(std::uint64_t word, std::uint32_t value, const LetGo& let_go) {
  std::byte* const there = at(word);
  if (there == nullptr) return;
  let_go(index_of(word));
  flag(there).store(value, std::memory_order_release);
}

}  // namespace polypath::kernels
