#include "collective/collectives.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace polypath {
namespace {

// The nodes' machines may differ, and pieces may not.
Bytes agreed_piece(Communicator& communicator, const Machine& machine) {
  const std::string own = std::to_string(piece_between_nodes(machine).value);
  Bytes most;
  for (const Blob& each : communicator.all_gather(own)) {
    Bytes said;
    std::from_chars(each.data(), each.data() + each.size(), said.value);
    most = std::max(most, said);
  }
  return most;
}

std::string gpu_of(const Communicator& communicator, const std::string& named) {
  if (!named.empty()) return named;
  return "gpu" + std::to_string(communicator.nodes().local_rank(communicator.rank()));
}

}  // namespace

Collectives::Collectives(Driver& driver, const Machine& machine, const Settings& settings,
                         const std::string& gpu, std::unique_ptr<Communicator> communicator,
                         const std::string& host)
    : gpu_(gpu_of(*communicator, gpu)) {
  const PlaceId place = machine.find_place(gpu_);
  if (communicator->nodes().count() == 1)
    of_node_ = std::make_unique<RankCollectives>(driver, machine, settings, place,
                                                 std::move(communicator));
  else join_nodes(driver, machine, settings, place, std::move(communicator), host);
}

void Collectives::join_nodes(Driver& driver, const Machine& machine, const Settings& settings,
                             PlaceId gpu, std::unique_ptr<Communicator> communicator,
                             const std::string& host) {
  const Bytes piece = agreed_piece(*communicator, machine);
  auto transport = transport_by_tcp(*communicator, host);
  among_nodes_ = std::make_unique<NodesCollectives>(
      driver, machine, settings, gpu, std::move(communicator),
      BetweenNodes{.transport = std::move(transport), .piece = piece});
}

Communicator& Collectives::communicator() {
  return among_nodes_ ? among_nodes_->communicator() : of_node_->communicator();
}

void Collectives::choose_from(const CollectiveOptions& options) {
  if (among_nodes_) among_nodes_->choose_from(options);
  else of_node_->choose_from(options);
}

void Collectives::run(const CollectiveCall& call, StreamHandle stream) {
  if (among_nodes_) among_nodes_->run(call, stream);
  else of_node_->run(call, stream);
}

void Collectives::run(RepeatedCall& call, StreamHandle stream) {
  if (among_nodes_) among_nodes_->run(call.call(), stream);
  else of_node_->run(call, stream);
}

void Collectives::prepare(const CollectiveCall& call) {
  if (among_nodes_) among_nodes_->prepare(call);
  else of_node_->prepare(call);
}

// Within the nodes each piece has a choice of its own.
ChosenWay Collectives::chosen(const CollectiveCall& call) {
  if (among_nodes_) return {.algorithm = "nodes", .piece = among_nodes_->piece(), .predicted = {}};
  if (of_node_->stays_at_home(call)) return {.algorithm = "copy", .piece = {}, .predicted = {}};
  const CollectiveDraft& draft = of_node_->chosen(call);
  return {.algorithm = draft.algorithm->name,
          .executor = draft.executor,
          .piece = draft.tuning.piece,
          .several_paths = draft.tuning.several_paths,
          .predicted = draft.predicted};
}

void Collectives::set_timeout(Seconds timeout) {
  if (among_nodes_) among_nodes_->set_timeout(timeout);
  else of_node_->communicator().set_timeout(timeout);
}

void Collectives::close() {
  if (among_nodes_) among_nodes_->close();
  else of_node_->close();
}

void Collectives::synchronize() {
  if (among_nodes_) among_nodes_->synchronize();
  else of_node_->synchronize();
}

void Collectives::barrier() {
  if (among_nodes_) among_nodes_->barrier();
  else of_node_->barrier();
}

void Collectives::barrier(StreamHandle stream) {
  if (among_nodes_) among_nodes_->barrier(stream);
  else of_node_->barrier(stream);
}

void Collectives::await_messages() {
  if (among_nodes_) among_nodes_->await_messages();
  else of_node_->barrier();
}

}  // namespace polypath
