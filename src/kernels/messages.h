#pragma once
// A kernel that is one rank's end of several messages, all at the same time, each with another
// rank's end somewhere (collective/rank/rank_messages.h).
//
// One end of a message copies, from or to the memory of the other one. The other end signals that
// its memory is ready, and waits until that is done: neither has memory between. The copying end
// awaits the signal by blocks of its own for each message, so that no message waits for another
// one; its last block signals the other end.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/units.h"
#include "kernels/messages_layout.h"
#include "model/kernel.h"

namespace polypath::kernels {

/// A task's part of the values.
struct MessageValues {
  Bytes bytes;
  std::uint32_t value = 0;  ///< that it signals and awaits
};

/// Without an image for GPUs if there was no CUDA compiler when this was built, and not for
/// simulated machines. Its memory is as of messages_layout.h, from the state on.
Kernel messages_kernel();

/// The numbers of a call, of which the first `copies` tasks copy. Launches that may run at the same
/// time have other numbers.
std::vector<std::uint64_t> message_values(std::size_t copies, std::span<const MessageValues> tasks,
                                          unsigned blocks_of_copy, std::uint64_t launch);
/// A block for all waits, and so many for each copy.
LaunchShape message_shape(std::size_t copies, unsigned blocks_of_copy);

/// The same on the host, a task at a time: for one rank's end while other processes do theirs. Its
/// words are the kernel's parameters, its memory the host's addresses of those among them.
class HostMessages {
 public:
  HostMessages(std::vector<std::uint64_t> words, std::vector<std::byte*> memory);

  /// Is told where something is among the memory once nothing more is done there but a signal,
  /// which comes next and lets the other end know.
  using LetGo = std::function<void(std::size_t)>;
  /// Does what can be done. True once nothing is left to do.
  bool step(const LetGo& let_go);
  /// The words of the kernel's parameters that are memory.
  static std::vector<std::uint64_t> memory_of(std::span<const std::uint64_t> words);

 private:
  [[nodiscard]] std::size_t index_of(std::uint64_t word) const;
  [[nodiscard]] std::byte* at(std::uint64_t word) const { return memory_[index_of(word)]; }
  [[nodiscard]] bool copy(std::uint64_t task, const LetGo& let_go);
  [[nodiscard]] bool wait(std::uint64_t task, std::uint64_t copies, const LetGo& let_go);
  void signal(std::uint64_t word, std::uint32_t value, const LetGo& let_go);

  std::vector<std::uint64_t> words_;
  std::vector<std::byte*> memory_;
  std::vector<bool> begun_, done_;
};

}  // namespace polypath::kernels
