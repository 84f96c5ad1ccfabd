#include "collective/program/split_messages.h"

#include <algorithm>
#include <utility>

#include "collective/program/parts.h"
#include "collective/program/tuning.h"

namespace polypath::collective {
namespace {

// The bytes of each path; the first path has the rest.
std::vector<Bytes> divided(Bytes bytes, const std::vector<PathShare>& shares) {
  constexpr std::uint64_t kAlignment = 256;
  std::vector<Bytes> parts = {bytes};
  for (std::size_t path = 1; path < shares.size(); ++path) {
    const auto wanted = static_cast<std::uint64_t>(bytes.real() * shares[path].share);
    parts.push_back({wanted / kAlignment * kAlignment});
    parts.front() -= parts.back();
  }
  return parts;
}

}  // namespace

// All pieces of a message go the same way, so the paths are those of the whole of it, and the
// chunks of a path are divided among the pieces.
std::vector<SplitMessages::Way> SplitMessages::ways_of(std::span<const Message> messages,
                                                       Routes& routes, bool by_joint_plan) const {
  std::vector<JointTransfer> transfers;
  for (const Message& message : messages)
    transfers.push_back({program_.buffer(message.from).place, program_.buffer(message.to).place,
                         message.bytes * static_cast<std::uint64_t>(pieces_)});
  const auto shares = routes.of(std::move(transfers), by_joint_plan);
  std::vector<Way> ways;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const std::vector<Bytes> parts = divided(messages[i].bytes, shares[i]);
    Message rest = messages[i];
    for (std::size_t path = 0; path < parts.size(); ++path) {
      rest.bytes = parts[path];
      const int chunks = (shares[i][path].chunks + pieces_ - 1) / pieces_;
      if (rest.bytes.value > 0) ways.push_back({shares[i][path].path, rest, chunks});
      rest.from.offset += rest.bytes, rest.to.offset += rest.bytes;
    }
  }
  return ways;
}

void SplitMessages::send(std::span<const Message> messages, Routes& routes, bool by_joint_plan) {
  const std::vector<Way> ways = ways_of(messages, routes, by_joint_plan);
  int rounds = 0;
  for (const Way& way : ways) rounds = std::max(rounds, way.chunks);
  for (int chunk = 0; chunk < rounds; ++chunk) {
    std::vector<SecondCopy> second;
    for (const Way& way : ways)
      if (chunk < way.chunks) send_chunk(way, chunk, second);
    for (const SecondCopy& copy : second) add(copy);
  }
}

// The remaining copies go into `second`.
void SplitMessages::send_chunk(const Way& way, int chunk, std::vector<SecondCopy>& second) {
  const Slice &from = way.message.from, &to = way.message.to;
  const Part part = part_of({{}, way.message.bytes}, chunk, way.chunks, 1_B);
  if (part.bytes.value == 0) return;
  const Slice source{from.buffer, from.offset + part.offset};
  const Slice target{to.buffer, to.offset + part.offset};
  if (!way.path.staged()) return add_copy_(way.path.first, source, target, part.bytes);
  empty_slots(way.path.first, second);
  const Slice slot = slots_.next(way.path.first, true);
  add_copy_(way.path.first, source, slot, part.bytes);
  second.push_back({way.path, {slot, target, part.bytes}});
}

// Several ways may begin with one hop: before its slots are filled again, their contents are sent
// on.
void SplitMessages::empty_slots(HopId first, std::vector<SecondCopy>& second) {
  const auto waits = [&](const SecondCopy& copy) { return copy.path.first == first; };
  if (std::ranges::count_if(second, waits) < kStagingSlots) return;
  for (const SecondCopy& copy : second)
    if (waits(copy)) add(copy);
  std::erase_if(second, waits);
}

void SplitMessages::add(const SecondCopy& copy) {
  add_copy_(copy.path.second, copy.message.from, copy.message.to, copy.message.bytes);
}

}  // namespace polypath::collective
