#include "collective/nodes_collectives.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>
#include <utility>

#include "collective/patience.h"
#include "communicator/deadline.h"
#include "communicator/ranks.h"
#include "core/error.h"
#include "core/quietly.h"

namespace polypath {
namespace {

// Beyond the timeout, so that who is missing is named by those who know it: first by ranks of its
// node, then by who waits for its call, at last by others that wait for these.
constexpr Seconds kUntilCalled{0.25};
constexpr Seconds kUntilSent{0.5};
constexpr Seconds kUntilDoneInNode{1};

constexpr std::chrono::microseconds kBetweenLooks{50};

// A guess; and an assumption, so that their memory stays small: a rank has up to 11 pieces on its
// GPU, and 8 in pinned memory.
constexpr Bytes kUnknownNetworkPiece = 1_MiB;
constexpr Bytes kLargestNetworkPiece = 16_MiB;
constexpr double kLatencyShare = 0.03;  // what of a piece's time may go to it: an assumption

void check_nodes(const Communicator& communicator, const Transport& transport) {
  const Nodes& nodes = communicator.nodes();
  if (nodes.count() < 2)
    fail(ErrorCode::invalid_argument, "These are no ranks of several nodes",
         fmt::format("all {} are on one", communicator.size()),
         "Use RankCollectives, or tell the communicator other nodes.");
  if (transport.rank() != communicator.rank() || transport.size() != communicator.size())
    fail(ErrorCode::invalid_argument, "The transport is one of other ranks",
         fmt::format("it has rank {} of {}, the communicator {} of {}", transport.rank(),
                     transport.size(), communicator.rank(), communicator.size()),
         "Make both over one bootstrap.");
  for (int node = 1; node < nodes.count(); ++node)
    if (nodes.ranks_on(node).size() != nodes.ranks_on(0).size())
      fail(ErrorCode::unsupported, "The nodes have different numbers of ranks",
           fmt::format("node 0 has {}, node {} has {}", nodes.ranks_on(0).size(), node,
                       nodes.ranks_on(node).size()),
           "Use as many GPUs of each.");
}

}  // namespace

Bytes piece_between_nodes(const Machine& machine) {
  if (!machine.network) return kUnknownNetworkPiece;
  const double least =
      machine.network->latency.value * machine.network->bandwidth.value / kLatencyShare;
  Bytes piece = 1_KiB;
  while (piece < kLargestNetworkPiece && static_cast<double>(piece.value) < least)
    piece = piece * 2;
  return piece;
}

NodesCollectives::NodesCollectives(Driver& driver, const Machine& machine, const Settings& settings,
                                   PlaceId gpu, std::unique_ptr<Communicator> communicator,
                                   BetweenNodes between)
    : driver_(driver), communicator_(std::move(communicator)) {
  check_nodes(*communicator_, *between.transport);
  inside_ = make_inside(machine, settings, gpu);
  rank_ = std::make_unique<NodeRank>(driver, gpu, communicator_->nodes(), rank(), inside_.get(),
                                     between.piece);
  exchange_ = std::make_unique<NodeExchange>(driver, machine, gpu, rank_->room(),
                                             proxy_group(std::move(between.transport)));
  network_ = driver.create_stream(gpu);
  for (EventHandle& event : before_) event = driver.create_event(gpu);
  for (EventHandle& event : between_) event = driver.create_event(gpu);
  end_ = driver.create_event(gpu);
  rank_->prepare(network_);
  join_aborts();
}

// After an abort nobody is waited for. Callbacks of the communicators, which use what is destroyed
// here, have ended when they are closed, and those of the proxy with its thread.
NodesCollectives::~NodesCollectives() {
  wait_for_end();
  quietly([&] { (void)communicator_->all_gather({}); });
  communicator_->close();
  if (inside_) inside_->communicator().close();
  exchange_.reset();
  inside_.reset();
  quietly([&] { driver_.destroy_stream(network_); });
  for (const EventHandle event : before_) quietly([&] { driver_.destroy_event(event); });
  for (const EventHandle event : between_) quietly([&] { driver_.destroy_event(event); });
  quietly([&] { driver_.destroy_event(end_); });
}

std::unique_ptr<RankCollectives> NodesCollectives::make_inside(const Machine& machine,
                                                               const Settings& settings,
                                                               PlaceId gpu) {
  const Nodes& nodes = communicator_->nodes();
  auto node =
      communicator_->split(nodes.of(rank()), rank(), communicator_->timeout() + kUntilDoneInNode);
  if (node->size() == 1) return nullptr;
  return std::make_unique<RankCollectives>(driver_, machine, settings, gpu, std::move(node));
}

NetworkProxy::Group NodesCollectives::proxy_group(std::unique_ptr<Transport> transport) {
  return {.transport = std::move(transport),
          .until_called = communicator_->timeout() + kUntilCalled,
          .until_sent = communicator_->timeout() + kUntilSent,
          .on_problem = [this](const Error& problem) {
            communicator_->abort(problem.what(), problem.code());
          }};
}

// Whoever finds something wrong, all of it ends: what is called, what the node does, and messages.
void NodesCollectives::join_aborts() {
  communicator_->on_abort([this] {
    try {
      communicator_->check();
    } catch (const Error& error) {
      exchange_->proxy().abort(error.what());
      if (inside_) inside_->communicator().abort(error.what(), error.code());
    }
  });
  if (!inside_) return;
  inside_->communicator().on_abort([this] {
    const Nodes& nodes = communicator_->nodes();
    try {
      inside_->communicator().check();
    } catch (const Error& error) {
      const auto among = describe_ranks(nodes.ranks_on(nodes.of(rank())));
      communicator_->abort(fmt::format("Of {}, counted from 0: {}", among, error.what()),
                           error.code());
    }
  });
}

void NodesCollectives::wait_for_end() noexcept {
  quietly([&] {
    std::optional<Deadline> patience;
    while (!is_done() && !(patience && patience->has_passed())) {
      if (!patience && !quietly([&] { communicator_->check(); }))
        patience = Deadline(kPatienceWithGpu);
      std::this_thread::sleep_for(kBetweenLooks);
    }
  });
}

bool NodesCollectives::is_done() { return !last_stream_ || driver_.is_done(end_); }

void NodesCollectives::await_messages() {
  while (exchange_->proxy().calls_over() < last_call_) {
    communicator_->check();
    std::this_thread::sleep_for(kBetweenLooks);
  }
  barrier();
}

void NodesCollectives::choose_from(const CollectiveOptions& options) {
  if (inside_) inside_->choose_from(options);
}

void NodesCollectives::barrier() { (void)communicator_->all_gather({}); }

}  // namespace polypath
