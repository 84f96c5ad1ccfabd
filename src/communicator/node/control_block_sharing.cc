#include "communicator/node/control_block_sharing.h"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

#include "communicator/bootstrap/frames.h"
#include "communicator/bootstrap/ranks.h"
#include "core/error.h"
#include "polypath_version.h"

namespace polypath::communicator {
namespace {

// The second number is to be counted up when blocks or rounds change within a version.
const std::string kVersion = "polypath " POLYPATH_VERSION_TEXT " communicator 3";

// Memory, or why there is none.
struct Attempt {
  std::optional<NamedMemory> memory;
  std::string problem;
};

template <class Make>
Attempt attempt(Make make) {
  try {
    return {make(), ""};
  } catch (const Error& error) {
    return {std::nullopt, error.what()};
  }
}

// The first rank of a node makes the memory.
Attempt make_if_first(const Nodes& nodes, int rank) {
  const std::vector<int>& ranks = nodes.ranks_on(nodes.of(rank));
  const std::size_t bytes = ControlBlock::bytes_for(static_cast<int>(ranks.size()));
  if (ranks.size() == 1) return attempt([&] { return NamedMemory::alone(bytes); });
  if (ranks.front() != rank) return {};
  return attempt([&] { return NamedMemory::create(bytes); });
}

std::string name_of(const Attempt& made) { return made.memory ? made.memory->name() : ""; }

// No rank goes on if one cannot: the first problem, in the order of the ranks.
void check_all(const std::vector<Blob>& problems) {
  for (std::size_t rank = 0; rank < problems.size(); ++rank)
    if (!problems[rank].empty())
      fail(ErrorCode::communicator, fmt::format("Rank {} cannot join", rank), problems[rank],
           "If its node is not that of the others, call it by another name.");
}

}  // namespace

Agreement agree(Bootstrap& bootstrap, const std::string& node, Seconds timeout) {
  const auto told = bootstrap.all_gather(pack({kVersion, node, unique_name()}), timeout);
  std::vector<std::string> names;
  for (std::size_t rank = 0; rank < told.size(); ++rank) {
    const std::vector<std::string> parts = unpack(told[rank]);
    if (parts.size() != 3 || parts[0] != kVersion)
      fail(ErrorCode::communicator, fmt::format("Rank {} has another version of Polypath", rank),
           fmt::format("it is not '{}'", kVersion), "Use the same version at every rank.");
    names.push_back(parts[1]);
  }
  return {unpack(told.front())[2], Nodes(names)};
}

ControlBlock share_control_block(Bootstrap& bootstrap, const Nodes& nodes, Seconds timeout) {
  const int rank = bootstrap.rank();
  const std::vector<int>& ranks = nodes.ranks_on(nodes.of(rank));
  const int count = static_cast<int>(ranks.size());
  Attempt mine = make_if_first(nodes, rank);
  const auto names = bootstrap.all_gather(name_of(mine), timeout);
  const std::string& name = names[static_cast<std::size_t>(ranks.front())];
  const auto byte = static_cast<std::size_t>(nodes.local_rank(rank));
  if (!name.empty() && ranks.front() != rank)
    mine = attempt([&] { return NamedMemory::open(name, ControlBlock::bytes_for(count), byte); });
  // The first rank may end now, before it can take the name away: every rank has it already.
  try {
    check_all(bootstrap.all_gather(mine.problem, timeout));
  } catch (const Error&) {
    if (!name.empty()) NamedMemory::remove_name(name);
    throw;
  }
  if (!name.empty()) NamedMemory::remove_name(name);
  if (!mine.memory) fail(ErrorCode::internal, "A rank without memory was let pass");
  return {std::move(*mine.memory), count};
}

}  // namespace polypath::communicator
