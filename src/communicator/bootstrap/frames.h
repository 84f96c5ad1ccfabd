#pragma once
// A frame between ranks on a connection: a header and bytes. Numbers have the computers' byte
// order; computers of another byte order fail at the first four bytes.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace polypath::communicator {

enum class FrameKind : std::uint32_t {
  hello,    ///< a rank: its number and how many it counts
  round,    ///< a rank's part of a round
  all,      ///< the parts of all ranks, packed
  missing,  ///< text that names the ranks for which rank 0 is waiting
  failed,   ///< in words, why nothing more will come
};

struct Frame {
  FrameKind kind = FrameKind::hello;
  std::uint64_t round = 0;
  std::string bytes;
};

std::string to_text(const Frame& frame);

/// Takes the first frame out of `inbox`; none while it is not complete. Error (communicator) for
/// bytes that are no frame, or a frame of more than `most` bytes; `from` names its sender.
std::optional<Frame> take_frame(std::string& inbox, std::uint64_t most, const std::string& from);

/// Several pieces of bytes as one, and back. Error (communicator) for damaged bytes.
std::string pack(const std::vector<std::string>& pieces);
std::vector<std::string> unpack(const std::string& packed);

}  // namespace polypath::communicator
