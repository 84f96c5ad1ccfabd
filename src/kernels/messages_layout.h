#pragma once
// Where the parameters of the kernel of messages are, in words of 64 bits, for the kernel and its
// caller. Tasks that copy come first, then tasks that wait for a copy of the other end:
//
//   copies, waits, blocks of each copy, first counter | by task bytes, value | state |
//   by copy source, destination, signal, awaited | by wait signal, awaited
//
// State is memory of the GPU, zeros at first: a word that is not 0 once no end waits for another
// one any more, and a counter for each copy of those launches that may run at the same time.

#include <cstddef>
#include <cstdint>

#include "kernels/on_both.h"

namespace polypath::kernels {

/// How many tasks one launch takes at most.
inline constexpr std::size_t kMostMessages = 64;
inline constexpr unsigned kMessageThreads = 512;  ///< of a block

enum MessageWord : std::uint64_t {
  kMessageCopies,
  kMessageWaits,
  kMessageBlocks,
  kMessageCounter,
  kMessageTasks
};
/// From one task's words of the memory to the next one's.
inline constexpr std::uint64_t kWordsOfCopy = 4, kWordsOfWait = 2;
enum CopyWord : std::uint64_t { kCopySource, kCopyDestination, kCopySignal, kCopyAwaited };
enum WaitWord : std::uint64_t { kWaitSignal, kWaitAwaited };

POLYPATH_ON_BOTH constexpr std::uint64_t bytes_word(std::uint64_t task) {
  return kMessageTasks + 2 * task;
}
POLYPATH_ON_BOTH constexpr std::uint64_t value_word(std::uint64_t task) {
  return bytes_word(task) + 1;
}
POLYPATH_ON_BOTH constexpr std::uint64_t state_word(std::uint64_t tasks) {
  return bytes_word(tasks);
}
POLYPATH_ON_BOTH constexpr std::uint64_t copy_word(std::uint64_t tasks, std::uint64_t copy) {
  return state_word(tasks) + 1 + kWordsOfCopy * copy;
}
POLYPATH_ON_BOTH constexpr std::uint64_t wait_word(std::uint64_t copies, std::uint64_t waits,
                                                   std::uint64_t wait) {
  return copy_word(copies + waits, copies) + kWordsOfWait * wait;
}
inline constexpr std::size_t kMostMessageWords =
    kMessageTasks + 1 + (2 + kWordsOfCopy) * kMostMessages;

/// In 32-bit words of the state.
inline constexpr std::uint64_t kMessagesAbandoned = 0, kFirstCopyCounter = 32;
constexpr std::uint64_t copy_counter(std::uint64_t launch) {
  return kFirstCopyCounter + launch * kMostMessages;
}
constexpr std::size_t message_state_bytes(std::uint64_t launches) {
  return copy_counter(launches) * 4;
}

/// True once the message of that number, or one after it, was signalled: numbers go round.
POLYPATH_ON_BOTH constexpr bool is_signalled(std::uint32_t word, std::uint32_t number) {
  return static_cast<std::int32_t>(word - number) >= 0;
}

}  // namespace polypath::kernels
