#include "engine/call/piece_set.h"

#include <algorithm>

namespace polypath::engine {
namespace {

bool go_alike(const SetMember& a, const SetMember& b) {
  return a.call.stream == b.call.stream && a.ends.source == b.ends.source &&
         a.ends.destination == b.ends.destination && a.call.options == b.call.options;
}

// A copy that is neither among the pieces nor planned is made in order, small as it is.
bool has_other_plans(const SetMember& member) { return member.plannable && !member.piece; }

// Memory of one allocation goes on at the address; that of two must not be in one copy.
bool goes_on(Address last, Bytes size, Address next, Address last_base, Address next_base) {
  return last + size == next && last_base == next_base;
}

// Appends a copy to the last piece if it continues that at both ends, and the piece stays one.
bool continues(const SetMember& before, const SetMember& member, PieceSet& set) {
  const CopyCall& call = member.call;
  Bytes& size = set.sizes.back();
  if (size + call.bytes > kLargestPiece ||
      !goes_on(set.buffers[set.buffers.size() - 2], size, call.source, before.source_allocation,
               member.source_allocation) ||
      !goes_on(set.buffers.back(), size, call.destination, before.destination_allocation,
               member.destination_allocation))
    return false;
  size += call.bytes;
  return true;
}

PieceSet::Group end_of(const PieceSet& set) { return {set.members.size(), set.sizes.size()}; }

void add(std::span<const SetMember> members, std::size_t number, PieceSet& set) {
  const CopyCall& call = members[number].call;
  const bool is_first = set.members.empty();
  const bool goes_with_last =
      !is_first && continues(members[set.members.back()], members[number], set);
  const bool is_full = !is_first && set.sizes.size() % kPiecesTogether == 0;
  if (is_full && !goes_with_last) set.groups.push_back(end_of(set));
  set.members.push_back(number);
  set.bytes += call.bytes;
  if (goes_with_last) return;
  set.buffers.insert(set.buffers.end(), {call.source, call.destination});
  set.sizes.push_back(call.bytes);
}

bool are_mostly_small(std::span<const SetMember> members, const PieceSet& set) {
  const auto small = std::count_if(set.members.begin(), set.members.end(), [&](std::size_t number) {
    return members[number].call.bytes <= kLargestPiece;
  });
  return static_cast<std::size_t>(small) * 2 > set.members.size();
}

}  // namespace

std::optional<PieceSet> find_pieces(std::span<const SetMember> members, Bytes slot) {
  PieceSet set;
  set.members.reserve(members.size());
  set.sizes.reserve(members.size());
  set.buffers.reserve(2 * members.size());
  for (std::size_t number = 0; number < members.size(); ++number) {
    const SetMember& member = members[number];
    if (has_other_plans(member)) return std::nullopt;
    if (!member.piece) continue;
    if (member.call.bytes > slot) return std::nullopt;
    if (!set.members.empty() && !go_alike(members[set.members.front()], member))
      return std::nullopt;
    add(members, number, set);
  }
  if (set.members.size() < kFewestPieces || !are_mostly_small(members, set)) return std::nullopt;
  set.groups.push_back(end_of(set));
  return set;
}

PieceGroup group_of(const PieceSet& set, std::size_t number) {
  const PieceSet::Group end = set.groups[number];
  const PieceSet::Group begin = number == 0 ? PieceSet::Group{} : set.groups[number - 1];
  const std::size_t pieces = end.pieces_end - begin.pieces_end;
  return {
      .members =
          std::span(set.members).subspan(begin.members_end, end.members_end - begin.members_end),
      .buffers = std::span(set.buffers).subspan(2 * begin.pieces_end, 2 * pieces),
      .sizes = std::span(set.sizes).subspan(begin.pieces_end, pieces)};
}

}  // namespace polypath::engine
