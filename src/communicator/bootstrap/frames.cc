#include "communicator/bootstrap/frames.h"

#include <fmt/format.h>

#include <cstring>

#include "core/error.h"

namespace polypath::communicator {
namespace {

constexpr std::uint32_t kMagic = 0x70613031;  // "pa01": polypath, version of these frames

struct FrameHeader {
  std::uint32_t magic = kMagic;
  FrameKind kind = FrameKind::hello;
  std::uint64_t round = 0;
  std::uint64_t bytes = 0;
};

[[noreturn]] void fail_damaged() {
  fail(ErrorCode::communicator, "What the ranks exchanged is damaged",
       "lengths do not fit what came", "Use the same version of Polypath at every rank.");
}

}  // namespace

std::string to_text(const Frame& frame) {
  const FrameHeader header{.kind = frame.kind, .round = frame.round, .bytes = frame.bytes.size()};
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) + frame.bytes;
}

std::optional<Frame> take_frame(std::string& inbox, std::uint64_t most, const std::string& from) {
  FrameHeader header;
  if (inbox.size() >= sizeof header.magic) std::memcpy(&header.magic, inbox.data(), 4);
  if (header.magic != kMagic)
    fail(ErrorCode::communicator, fmt::format("{} is no rank of Polypath", from),
         "it says something else", "Give a port that nothing else uses.");
  if (inbox.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, inbox.data(), sizeof header);
  if (header.bytes > most || header.kind > FrameKind::failed)
    fail(ErrorCode::communicator, fmt::format("{} is no rank of Polypath", from),
         "it sends what no rank sends", "Give a port that nothing else uses.");
  if (inbox.size() < sizeof header + header.bytes) return std::nullopt;
  Frame frame{header.kind, header.round, inbox.substr(sizeof header, header.bytes)};
  inbox.erase(0, sizeof header + header.bytes);
  return frame;
}

std::string pack(const std::vector<std::string>& pieces) {
  std::string packed;
  for (const std::string& piece : pieces) {
    const std::uint64_t size = piece.size();
    packed.append(reinterpret_cast<const char*>(&size), sizeof size);
    packed += piece;
  }
  return packed;
}

std::vector<std::string> unpack(const std::string& packed) {
  std::vector<std::string> pieces;
  std::uint64_t size = 0;
  for (std::size_t at = 0; at < packed.size(); at += size) {
    if (packed.size() - at < sizeof size) fail_damaged();
    std::memcpy(&size, packed.data() + at, sizeof size);
    at += sizeof size;
    if (packed.size() - at < size) fail_damaged();
    pieces.push_back(packed.substr(at, size));
  }
  return pieces;
}

}  // namespace polypath::communicator
