#include "mpi/internode_member.h"

#include <sched.h>

#include <utility>

#include "collective/internode/internode_collectives.h"
#include "collective/make_collectives.h"
#include "communicator/bootstrap/deadline.h"
#include "communicator/transport/rounds_over_transport.h"
#include "core/error.h"
#include "mpi/aside.h"

namespace polypath::mpi {
namespace {

bool are_node_by_node(const Nodes& nodes) {
  for (int node = 0; node < nodes.count(); ++node) {
    const std::vector<int>& ranks = nodes.ranks_on(node);
    if (ranks.back() - ranks.front() + 1 != static_cast<int>(ranks.size())) return false;
  }
  return true;
}

}  // namespace

InternodeMember::InternodeMember(const Library& library, Handle comm, int rank,
                                 const std::vector<std::string>& nodes, InternodeTerms terms)
    : library_(library),
      comm_(comm),
      rank_(rank),
      node_(nodes[static_cast<std::size_t>(rank)]),
      nodes_(nodes),
      ballot_(library, comm, terms.polls),
      numbers_(library, comm, size(), terms.has_threads) {}

InternodeMember::~InternodeMember() = default;

bool InternodeMember::has(Operation operation) const {
  switch (operation) {
    case Operation::gather:
    case Operation::gather_v:
    case Operation::scatter:
    case Operation::scatter_v:
    case Operation::all_to_all:
    case Operation::all_to_all_v: return are_node_by_node(nodes_);
    default: return true;
  }
}

// A copy of the communicator would ask the program for copies of its attributes.
std::unique_ptr<Communicator> InternodeMember::meet(Seconds timeout) {
  if (library_.real.Comm_split(comm_, 0, rank_, &between_) != kSuccess)
    fail(ErrorCode::communicator, "MPI makes no communicator for messages between nodes",
         "it has refused to", "Look at what MPI says.");
  made_ = std::make_unique<MpiTransport>(library_, library_.handle(between_), rank_, size());
  messages_ = made_.get();
  return std::make_unique<Communicator>(
      bootstrap_by_functions(rounds_over(*messages_), rank_, size()),
      CommunicatorOptions{.node = node_, .timeout = timeout});
}

std::unique_ptr<Collectives> InternodeMember::collectives(
    const RanksMachine& around, const Settings& settings, PlaceId gpu,
    std::unique_ptr<Communicator> communicator) {
  const Bytes piece = agreed_piece(*communicator, around.machine);
  return std::make_unique<InternodeCollectives>(
      around.driver, around.machine, settings, gpu, std::move(communicator),
      InternodeLink{.transport = std::move(made_), .piece = piece});
}

void InternodeMember::progress() {
  if (messages_ != nullptr) messages_->progress();
}

void InternodeMember::note_failure(const Error& problem) {
  if (!failed_) failed_ = problem;
  ballot_.abandon();
  tell_others();
}

void InternodeMember::await_votes() {
  while (ballot_.is_waiting()) {
    progress();
    if (failure()) return ballot_.abandon();
    sched_yield();
  }
}

void InternodeMember::tell_others() {
  const Deadline deadline(Seconds{1});
  while (messages_ != nullptr && !messages_->has_told_others() && !deadline.has_passed()) {
    messages_->progress();
    sched_yield();
  }
}

void InternodeMember::use(std::unique_ptr<Aside> aside) { aside_ = std::move(aside); }

void InternodeMember::free_communicators() noexcept {
  if (aside_ != nullptr) aside_->free();
  if (between_ != 0) library_.real.Comm_free(&between_);
}

}  // namespace polypath::mpi
