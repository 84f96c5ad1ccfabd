#include "mpi/node_of_job.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "communicator/bootstrap/nodes.h"
#include "core/error.h"
#include "core/hash.h"
#include "core/log.h"
#include "mpi/job.h"
#include "mpi/roll_call.h"

namespace polypath::mpi {
namespace {

std::string hash_of(const std::string& text) {
  return fmt::format("{:016x}", Hash().add(text).value());
}

// All ranks ask for the same of all.
template <class Value>
std::vector<Value> all_gather(const Library& library, const Value& mine) {
  int ranks = 0;
  library.real.Comm_size(library.world, &ranks);
  std::vector<Value> all(static_cast<std::size_t>(ranks));
  library.real.Allgather(&mine, sizeof mine, library.byte, all.data(), sizeof mine, library.byte,
                         library.world);
  return all;
}

// What a rank says of its node.
struct NodeSaid {
  std::uint64_t hash = 0;
  std::array<char, 56> name{};  ///< for messages; ends with a zero
};

template <class Action>
void try_to(Action action) {
  try {
    action();
  } catch (const Error& error) {
    log(LogLevel::info, std::string("MPI's collectives are left to it: ") + error.what());
  }
}

}  // namespace

// Nodes of one computer have presences of their own.
void NodeOfJob::enter(bool joins) {
  joins_ = joins;
  const std::string job = this_job();
  if (job.empty()) return;
  const std::string node = name_.empty() ? name_ : "-" + hash_of(name_);
  presence_.emplace("mpi-" + job + node, getpid(), joins);
}

// A node that is called by a name may be a part of a computer.
bool NodeOfJob::are_all_under_polypath(const Library& library) const {
  int ranks = 0;
  library.real.Comm_size(library.world, &ranks);
  if (!presence_) return ranks == 1;
  if (presence_->is_complete(ranks)) return true;
  if (!asks_others_) return false;
  const int here = ranks_started_here().value_or(ranks);
  if (name_.empty() && here >= ranks) return false;
  const bool is_complete_here = !name_.empty() || presence_->is_complete(here);
  return call_roll(library, is_complete_here ? Hash().add(RankPresence::said(joins_)).value() : 0);
}

bool NodeOfJob::meet(const Library& library) {
  int rank = 0;
  library.real.Comm_rank(library.world, &rank);
  if (!are_all_under_polypath(library)) return false;
  find_nodes(library);
  const bool have_all = share_arena(library, rank);
  if (!have_all) arena_.reset();
  if (rank == first_of_own(rank) && presence_) presence_->forget();
  return have_all;
}

void NodeOfJob::leave() noexcept {
  if (presence_ && !arena_) presence_->forget();
}

void NodeOfJob::find_nodes(const Library& library) {
  const std::string name = name_.empty() ? this_node() : name_;
  NodeSaid mine{.hash = Hash().add(name).value()};
  name.substr(0, name.find(' ')).copy(mine.name.data(), mine.name.size() - 1);
  for (const NodeSaid& each : all_gather(library, mine))
    nodes_.push_back(fmt::format("{} {:016x}", each.name.data(), each.hash));
}

int NodeOfJob::first_of_own(int rank) const {
  const std::string& own = nodes_[static_cast<std::size_t>(rank)];
  return static_cast<int>(std::find(nodes_.begin(), nodes_.end(), own) - nodes_.begin());
}

// The first rank of a node makes its arena. All ranks have theirs, or none uses it.
bool NodeOfJob::share_arena(const Library& library, int rank) {
  const int first = first_of_own(rank);
  SharedPages::Name name;
  if (rank == first) try_to([&] { name = arena_.emplace(Arena::make()).name(); });
  const SharedPages::Name its = all_gather(library, name)[static_cast<std::size_t>(first)];
  if (rank != first && its.file >= 0) try_to([&] { arena_.emplace(Arena::open(its)); });
  const std::vector<char> have = all_gather<char>(library, arena_ ? 1 : 0);
  return std::accumulate(have.begin(), have.end(), 0) == static_cast<int>(have.size());
}

}  // namespace polypath::mpi
