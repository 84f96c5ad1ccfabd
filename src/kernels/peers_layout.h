#pragma once
// What a kernel that uses all ranks' memories directly shares with who launches it.
//
// All ranks run it at the same time, with equally many blocks. Block b of each waits for block b of
// all others, so that nobody reads what is not ready or writes what is still in use, and again at
// its end. Its bells, one per rank and block, are in its own memory; rung with the number of the
// call.

#include <cstddef>
#include <cstdint>

namespace polypath {

inline constexpr std::size_t kMostPeers = 16;
inline constexpr std::uint64_t kMostPeerBlocks = 128;
inline constexpr unsigned kPeerThreads = 512;  ///< of a block

/// Bytes of a rank's bells, which are zero at first.
constexpr std::uint64_t bells_bytes(std::uint64_t ranks) {
  return 2 * ranks * kMostPeerBlocks * sizeof(std::uint32_t);
}

/// Parameters, in words of 64 bits: values, then addresses. All inputs and outputs lie where words
/// of 16 bytes begin.
struct PeerParameters {
  std::uint64_t reduction;  ///< its code; see reduce_layout.h
  std::uint64_t rank, ranks;
  std::uint64_t bytes;
  std::uint64_t counter;    ///< MailCounter of mailbox_layout.h
  std::uint64_t abandoned;  ///< as there
  std::uint64_t bells[kMostPeers];
  std::uint64_t inputs[kMostPeers];
  std::uint64_t outputs[kMostPeers];
};

}  // namespace polypath
