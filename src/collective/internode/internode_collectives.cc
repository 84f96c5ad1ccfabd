#include "collective/internode/internode_collectives.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>
#include <utility>

#include "collective/rank/ending.h"
#include "collective/rank/timeouts.h"
#include "communicator/bootstrap/deadline.h"
#include "communicator/bootstrap/ranks.h"
#include "core/error.h"
#include "core/ignore_errors.h"
#include "core/interruption.h"
#include "core/log.h"

namespace polypath::collective {
namespace {

// Beyond the timeout, so that a missing rank is named by the ranks that know it: first by ranks of
// its node, then by the rank that waits for its call, at last by others that wait for these.
constexpr Seconds kUntilCalled{0.25};
constexpr Seconds kUntilSent{0.5};
constexpr Seconds kUntilDoneInNode{1};

constexpr std::chrono::microseconds kBetweenLooks{50};

// A guess; and an assumption, so that their memory stays small: a rank has up to 11 pieces on its
// GPU, and 8 in pinned memory.
constexpr Bytes kUnknownNetworkPiece = 1_MiB;
constexpr Bytes kLargestNetworkPiece = 16_MiB;
constexpr double kLatencyShare = 0.03;  // latency's share of a piece's time: an assumption

void check_nodes(const Communicator& communicator, const Transport& transport) {
  const Nodes& nodes = communicator.nodes();
  if (nodes.count() < 2)
    fail(ErrorCode::invalid_argument, "These are no ranks of several nodes",
         fmt::format("all {} are on one", communicator.size()),
         "Use NodeCollectives, or tell the communicator other nodes.");
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

InternodeCollectives::InternodeCollectives(Driver& driver, const Machine& machine,
                                           const Settings& settings, PlaceId gpu,
                                           std::unique_ptr<Communicator> communicator,
                                           InternodeLink between)
    : driver_(driver), communicator_(std::move(communicator)) {
  check_nodes(*communicator_, *between.transport);
  try {
    make_parts(machine, settings, gpu, between);
  } catch (const std::exception& problem) {
    drop(problem.what());
    throw;
  }
}

void InternodeCollectives::make_parts(const Machine& machine, const Settings& settings, PlaceId gpu,
                                      InternodeLink& between) {
  inside_ = make_inside(machine, settings, gpu);
  rank_ = std::make_unique<NodeRank>(driver_, gpu, communicator_->nodes(), rank(), inside_.get(),
                                     between.piece);
  exchange_ = std::make_unique<NodeExchange>(driver_, machine, gpu, rank_->buffer_bytes(),
                                             proxy_group(std::move(between.transport)));
  pipeline_ = std::make_unique<InternodePipeline>(driver_, gpu, *exchange_);
  rank_->prepare(pipeline_->network());
  pipeline_->mark_network();
  join_aborts();
}

// The communicators may send by the transport, which goes first when a constructor fails: they end
// before, and wait for no other rank.
void InternodeCollectives::drop(const std::string& why) noexcept {
  ignore_errors([&] { communicator_->abort(why); });
  if (inside_) {
    ignore_errors([&] { inside_->communicator().abort(why); });
    inside_->leave();
  }
  communicator_->close();
}

InternodeCollectives::~InternodeCollectives() {
  ignore_errors([&] { close(); });
  leave();
}

void InternodeCollectives::close() {
  if (is_closed_) return;
  const LeavesInTheEnd leaves(*this);
  end_together([&](const Blob& mine) { return meet(kClosing, mine); }, [&] { synchronize(); });
  exchange_->proxy().finish();
}

// After an abort no rank is waited for. Callbacks of the communicators, which use what is destroyed
// here, have ended when they are closed, and those of the proxy with its thread. Streams wait for
// the node's flags and for the proxy's words: the one is there until nothing waits for the other.
void InternodeCollectives::leave() noexcept {
  if (std::exchange(is_closed_, true)) return;
  const bool is_settled = await_all();
  communicator_->close();
  if (inside_) inside_->leave();
  exchange_->stop();
  if (is_settled && are_messages_over()) {
    exchange_.reset();
    inside_.reset();
    return pipeline_->close();
  }
  log(LogLevel::warning, "memory of collectives stays in use: what is queued does not end");
  (void)exchange_.release(), (void)inside_.release(), (void)rank_.release();
}

std::unique_ptr<NodeCollectives> InternodeCollectives::make_inside(const Machine& machine,
                                                                   const Settings& settings,
                                                                   PlaceId gpu) {
  const Nodes& nodes = communicator_->nodes();
  auto node =
      communicator_->split(nodes.of(rank()), rank(), communicator_->timeout() + kUntilDoneInNode);
  if (node->size() == 1) return nullptr;
  return std::make_unique<NodeCollectives>(driver_, machine, settings, gpu, std::move(node));
}

ProxyGroup InternodeCollectives::proxy_group(std::unique_ptr<Transport> transport) {
  transport->name_nodes(communicator_->nodes());
  communicator_->doubt([used = transport.get()] { return used->failure(); });
  return {.transport = std::move(transport),
          .until_called = communicator_->timeout() + kUntilCalled,
          .until_sent = communicator_->timeout() + kUntilSent,
          .on_problem = [this](const Error& problem) {
            communicator_->abort(problem.what(), problem.code());
          }};
}

// A problem found anywhere ends all three: the call, the node's part, and the messages.
void InternodeCollectives::join_aborts() {
  communicator_->on_abort([this] {
    try {
      communicator_->check();
    } catch (const Error& error) {
      exchange_->proxy().abort(error);
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

bool InternodeCollectives::await_all() noexcept {
  const auto is_over = [&] {
    return is_done() && pipeline_->is_network_done() && (!inside_ || inside_->is_done());
  };
  return await_end(
      is_over, [&] { communicator_->check(); }, kGpuTimeout);
}

bool InternodeCollectives::are_messages_over() const noexcept {
  const Deadline deadline(kPeerTimeout);
  while (exchange_->proxy().is_busy() && !deadline.has_passed())
    std::this_thread::sleep_for(kBetweenLooks);
  return !exchange_->proxy().is_busy();
}

bool InternodeCollectives::is_done() { return pipeline_->is_done(); }

// Error of an abort, independent of the answer.
template <class Question>
void InternodeCollectives::wait_for(Question is_over) {
  while (!is_over()) {
    communicator_->check();
    check_interruption();
    std::this_thread::sleep_for(kBetweenLooks);
  }
  communicator_->check();
}

void InternodeCollectives::synchronize() {
  wait_for([this] { return is_done() && pipeline_->is_network_done(); });
}

// A call without parts: the ranks of the node see it at once, and those of other nodes by their
// rail peers.
CallNumber InternodeCollectives::compare(const CallRecord& record) {
  const CallNumber number = communicator_->begin(record);
  NetworkProxy& proxy = exchange_->proxy();
  proxy.begin(record, rank_->rail_peers());
  last_call_ = proxy.end();
  communicator_->watch(number, [&proxy, last = last_call_] { return proxy.calls_over() >= last; });
  return number;
}

// A rank that is interrupted here leaves the call log half compared: the others must not go on.
void InternodeCollectives::await_comparison() {
  try {
    wait_for([this] { return exchange_->proxy().calls_over() >= last_call_; });
  } catch (const Error&) {
    throw;
  } catch (...) {
    communicator_->abort(fmt::format(
        "Rank {} has given up (it was interrupted while it waited for others)", rank()));
    throw;
  }
}

std::vector<Blob> InternodeCollectives::meet(const CallRecord& record, const Blob& mine) {
  (void)compare(record);
  await_comparison();
  return communicator_->all_gather(mine, record);
}

void InternodeCollectives::await_messages() {
  await_comparison();
  barrier();
}

void InternodeCollectives::set_timeout(Seconds timeout) {
  communicator_->set_timeout(timeout);
  exchange_->proxy().set_timeouts(timeout + kUntilCalled, timeout + kUntilSent);
  if (inside_) inside_->communicator().set_timeout(timeout + kUntilDoneInNode);
}

ChosenWay InternodeCollectives::chosen(const CollectiveCall&) {
  return {.algorithm = "nodes", .piece = rank_->piece(), .predicted = {}};
}

void InternodeCollectives::choose_from(const CollectiveOptions& options) {
  if (inside_) inside_->choose_from(options);
}

void InternodeCollectives::barrier() { (void)meet({.operation = "barrier"}, {}); }

}  // namespace polypath::collective
