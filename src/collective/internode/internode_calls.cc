// The calls of ranks of several nodes.

#include <functional>
#include <utility>

#include "collective/internode/internode_collectives.h"
#include "collective/rank/checked_call.h"
#include "core/error.h"
#include "core/ignore_errors.h"

namespace polypath {
namespace {

int slot_of(int step, int piece) { return 2 * step + piece % 2; }
std::size_t event_of(int piece) { return static_cast<std::size_t>(piece % NodeRank::kPieces); }

}  // namespace

// Where the others are does not matter for it.
void InternodeCollectives::check_call(const CollectiveCall& call) const {
  const CollectiveRequest all =
      request_of(call, std::vector<PlaceId>(static_cast<std::size_t>(size())));
  check_operation(all);
  check_counts(all);
  check_memory(call, size(), rank());
}

void InternodeCollectives::run(const CollectiveCall& call, StreamHandle stream) {
  check_call(call);
  enqueue(record_of(request_of(call)), *internode_schedule(*rank_, call, stream, network_), stream);
}

void InternodeCollectives::prepare(const CollectiveCall& call) {
  check_call(call);
  const auto steps = internode_schedule(*rank_, call, network_, network_);
  steps->only_prepare();
  for (int piece = 0; piece < steps->pieces(); ++piece) steps->before(piece), steps->after(piece);
}

void InternodeCollectives::barrier(StreamHandle stream) {
  const CollectiveCall nothing;
  enqueue({.operation = "barrier"}, *internode_barrier(*rank_, nothing, stream, network_), stream);
}

// If one rank failed alone, the others would wait for it.
void InternodeCollectives::enqueue(const CallRecord& record, InternodeSchedule& call,
                                   StreamHandle stream) {
  if (driver_.is_capturing(stream))
    fail(ErrorCode::unsupported, "a call among nodes cannot be captured",
         "the network is no part of a graph", "Call it outside of the capture.");
  const CallNumber number = communicator_->begin(record);
  NetworkProxy& proxy = exchange_->proxy();
  try {
    proxy.begin(record, rank_->rail_peers());
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

// Also of a call that is enqueued in part: it waits for others.
void InternodeCollectives::mark_end(StreamHandle stream) {
  ignore_errors([&] { driver_.record(network_end_, network_); });
  if (ignore_errors([&] { driver_.record(end_, stream); })) last_stream_ = stream;
}

void InternodeCollectives::issue(InternodeSchedule& call, StreamHandle stream) {
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

void InternodeCollectives::send_first(InternodeSchedule& call, int piece) {
  driver_.wait(network_, before_[event_of(piece)]);
  exchange_->start(slot_of(0, piece), call.first(piece), network_);
}

void InternodeCollectives::go_on(InternodeSchedule& call, int piece) {
  exchange_->finish(slot_of(0, piece), network_);
  call.reduce(piece);
  if (call.has_second()) exchange_->start(slot_of(1, piece), call.second(piece), network_);
  else driver_.record(between_[event_of(piece)], network_);
}

}  // namespace polypath
