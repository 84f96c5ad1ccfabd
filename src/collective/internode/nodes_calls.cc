// The calls of ranks of several nodes.

#include <fmt/format.h>

#include <functional>
#include <utility>

#include "collective/internode/nodes_collectives.h"
#include "core/error.h"
#include "core/hash.h"
#include "core/quietly.h"

namespace polypath {
namespace {

int slot_of(int step, int piece) { return 2 * step + piece % 2; }
std::size_t event_of(int piece) { return static_cast<std::size_t>(piece % NodeRank::kPieces); }

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

void NodesCollectives::check_call(const CollectiveCall& call) const {
  const CollectiveRequest all = request_of(call);
  check_operation(all);
  check_counts(all);
  if (call.collective == Collective::all_to_all_v)
    return check_memory(call, input_bytes(all, rank()).value > 0,
                        output_bytes(all, rank()).value > 0);
  if (call.elements == 0) return;
  const bool is_root = rank() == call.root;
  const bool needs_input = call.collective != Collective::broadcast || is_root;
  const bool needs_output =
      !has_root(call.collective) || (call.collective == Collective::reduce) == is_root;
  check_memory(call, needs_input, needs_output);
}

// Where the others are does not matter for it.
CollectiveRequest NodesCollectives::request_of(const CollectiveCall& call) const {
  return {.collective = call.collective,
          .ranks = std::vector<PlaceId>(static_cast<std::size_t>(size())),
          .elements = call.elements,
          .reduction = call.reduction,
          .root = has_root(call.collective) ? call.root : 0,
          .in_place = call.in_place,
          .counts = call.counts};
}

void NodesCollectives::check_memory(const CollectiveCall& call, bool needs_input,
                                    bool needs_output) {
  if ((needs_input && call.input.value == 0) || (needs_output && call.output.value == 0))
    fail(ErrorCode::invalid_argument, fmt::format("{} without memory", name_of(call.collective)),
         "the address of the input or the output is 0", "Pass memory of this rank's GPU.");
}

void NodesCollectives::run(const CollectiveCall& call, StreamHandle stream) {
  check_call(call);
  enqueue(record_of(call), *among_nodes(*rank_, call, stream, network_), stream);
}

void NodesCollectives::prepare(const CollectiveCall& call) {
  check_call(call);
  const auto steps = among_nodes(*rank_, call, network_, network_);
  steps->only_prepare();
  for (int piece = 0; piece < steps->pieces(); ++piece) steps->before(piece), steps->after(piece);
}

void NodesCollectives::barrier(StreamHandle stream) {
  const CollectiveCall nothing;
  enqueue({.operation = "barrier"}, *barrier_among_nodes(*rank_, nothing, stream, network_),
          stream);
}

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
    last_call_ = proxy.end();
    communicator_->watch(number,
                         [&proxy, last = last_call_] { return proxy.calls_over() >= last; });
  } catch (const Error& error) {
    mark_end(stream);
    communicator_->check();
    communicator_->abort(error.what(), error.code());
    throw;
  }
}

// Also of what is enqueued in part: it waits for others.
void NodesCollectives::mark_end(StreamHandle stream) {
  quietly([&] { driver_.record(network_end_, network_); });
  if (quietly([&] { driver_.record(end_, stream); })) last_stream_ = stream;
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
  driver_.record(network_end_, network_);
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
