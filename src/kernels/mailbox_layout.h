#pragma once
// What kernels of several GPUs that exchange messages share, and who launches them.
//
// A **mailbox** belongs to a rank and lies in its memory. It has two halves, used in turn, each
// with a box per sender; a box has lines of 128 bytes: 120 of the message, then a flag, written by
// eight neighbouring threads with one instruction. A line has arrived when its flag is that of the
// call: over NVLink the 128 bytes of such a store arrive together. Flags are numbers of calls,
// counted on the GPU so that a graph may be launched again and again, and never come twice in 2^32
// calls.
//
// A half may be written again when its reader is done with what was in it. Who sends in call s + 2
// has received all messages of call s + 1, whose senders were done with call s by then.

#include <cstddef>
#include <cstdint>

namespace polypath {

inline constexpr std::size_t kMostMailRanks = 16;
inline constexpr std::uint64_t kLineBytes = 128;
inline constexpr std::uint64_t kLineMessage = 120;  ///< bytes of it that are the message's

/// Bytes of a box for messages of at most so many.
constexpr std::uint64_t box_bytes(std::uint64_t message) {
  return (message + kLineMessage - 1) / kLineMessage * kLineBytes;
}

/// What a GPU keeps from call to call; zero at first. Both in its own memory.
struct MailCounter {
  std::uint32_t calls;     ///< that are done
  std::uint32_t finished;  ///< blocks of the present one
};

/// Parameters, in words of 64 bits: values, then addresses.
struct MailParameters {
  std::uint64_t reduction;  ///< its code; see reduce_layout.h
  std::uint64_t rank, ranks;
  std::uint64_t bytes;  ///< of each message
  std::uint64_t
      send_stride;  ///< from what goes to rank p to what goes to p + 1; 0: all get the same
  std::uint64_t receive_stride;  ///< of what is stored side by side
  std::uint64_t box;             ///< bytes of a box; a half has as many boxes as there are ranks
  std::uint64_t input, output, counter;
  std::uint64_t abandoned;  ///< a word of the host's that is not 0 once nobody is to wait any more
  std::uint64_t mailboxes[kMostMailRanks];
};

inline constexpr unsigned kMailThreads = 512;  ///< of a block

}  // namespace polypath
