#include "collective/nodes_collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "communicator/deadline.h"
#include "communicator/ranks.h"
#include "core/error.h"
#include "core/hash.h"
#include "core/quietly.h"

namespace polypath {
namespace {

// Beyond the timeout, so that who is missing is named by those who know it: first by ranks of its
// node, then by who waits for its call, at last by others that wait for these.
constexpr Seconds kUntilCalled{0.25};
constexpr Seconds kUntilSent{0.5};
constexpr Seconds kUntilDoneInNode{1};

// With what waits on the GPU, after an abort.
constexpr Seconds kPatience{10};
constexpr std::chrono::microseconds kBetweenLooks{50};

int slot_of(int step, int piece) { return 2 * step + piece % 2; }
std::size_t event_of(int piece) { return static_cast<std::size_t>(piece % NodeRank::kPieces); }

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

CallRecord record_of(const CollectiveCall& call) {
  const auto& counts = call.counts;
  return {.operation = name_of(call.collective),
          .type = name_of(call.reduction.type),
          .reduction = reduces(call.collective) ? name_of(call.reduction.operation) : "",
          .count = call.elements,
          .digest = Hash().add(counts.data(), counts.size() * sizeof(counts.front())).value(),
          .root = has_root(call.collective) ? call.root : -1};
}

}  // namespace

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
      if (!patience && !quietly([&] { communicator_->check(); })) patience = Deadline(kPatience);
      std::this_thread::sleep_for(kBetweenLooks);
    }
  });
}

bool NodesCollectives::is_done() { return !last_stream_ || driver_.is_done(end_); }

void NodesCollectives::choose_from(const CollectiveOptions& options) {
  if (inside_) inside_->choose_from(options);
}

void NodesCollectives::check_call(const CollectiveCall& call) const {
  const char* const name = name_of(call.collective);
  if (call.elements == 0)
    fail(ErrorCode::invalid_argument, fmt::format("{} of no elements", name), "there must be one");
  if (has_root(call.collective) && (call.root < 0 || call.root >= size()))
    fail(ErrorCode::invalid_argument, fmt::format("{} with root {}", name, call.root),
         fmt::format("there are ranks 0 to {}", size() - 1));
  if (reduces(call.collective) && !can_reduce(call.reduction.operation, call.reduction.type))
    fail(ErrorCode::invalid_argument,
         fmt::format("there is no {} of {}", name_of(call.reduction.operation),
                     name_of(call.reduction.type)),
         "averages of whole numbers are not whole", "Use sum, and divide.");
  const bool is_root = rank() == call.root;
  const bool needs_input = call.collective != Collective::broadcast || is_root;
  const bool needs_output =
      !has_root(call.collective) || (call.collective == Collective::reduce) == is_root;
  if ((needs_input && call.input.value == 0) || (needs_output && call.output.value == 0))
    fail(ErrorCode::invalid_argument, fmt::format("{} without memory", name),
         "the address of the input or the output is 0", "Pass memory of this rank's GPU.");
}

void NodesCollectives::run(const CollectiveCall& call, StreamHandle stream) {
  check_call(call);
  enqueue(record_of(call), *among_nodes(*rank_, call, stream, network_), stream);
}

void NodesCollectives::barrier(StreamHandle stream) {
  const CollectiveCall nothing;
  enqueue({.operation = "barrier"}, *barrier_among_nodes(*rank_, nothing, stream, network_),
          stream);
}

void NodesCollectives::barrier() { (void)communicator_->all_gather({}); }

// What fails at one rank the others would wait for.
void NodesCollectives::enqueue(const CallRecord& record, AmongNodes& call, StreamHandle stream) {
  if (driver_.is_capturing(stream))
    fail(ErrorCode::unsupported, "a call among nodes cannot be captured",
         "the network is no part of a graph", "Call it outside of the capture.");
  const CallNumber number = communicator_->begin(record);
  NetworkProxy& proxy = exchange_->proxy();
  try {
    proxy.begin(record, rank_->equals());
    issue(call, stream);
    communicator_->watch(number,
                         [&proxy, last = proxy.end()] { return proxy.calls_over() >= last; });
  } catch (const Error& error) {
    communicator_->check();
    communicator_->abort(error.what(), error.code());
    throw;
  }
}

void NodesCollectives::issue(AmongNodes& call, StreamHandle stream) {
  if (last_stream_ && *last_stream_ != stream) driver_.wait(stream, end_);
  std::vector<std::function<void(int)>> steps = {
      [&](int piece) { call.before(piece), driver_.record(before_[event_of(piece)], stream); },
      [&](int piece) { send_first(call, piece); },
      [&](int piece) { go_on(call, piece); },
  };
  if (call.has_second())
    steps.emplace_back([&](int piece) {
      exchange_->finish(slot_of(1, piece), network_);
      driver_.record(between_[event_of(piece)], network_);
    });
  steps.emplace_back([&](int piece) {
    driver_.wait(stream, between_[event_of(piece)]);
    call.after(piece);
  });
  pipeline(call.pieces(), steps);
  driver_.record(end_, stream);
  last_stream_ = stream;
}

void NodesCollectives::send_first(AmongNodes& call, int piece) {
  driver_.wait(network_, before_[event_of(piece)]);
  exchange_->start(slot_of(0, piece), call.first(piece), network_);
}

void NodesCollectives::go_on(AmongNodes& call, int piece) {
  exchange_->finish(slot_of(0, piece), network_);
  call.reduce(piece);
  if (call.has_second()) exchange_->start(slot_of(1, piece), call.second(piece), network_);
  else driver_.record(between_[event_of(piece)], network_);
}

}  // namespace polypath
