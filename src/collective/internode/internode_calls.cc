// The calls of ranks of several nodes.

#include <utility>

#include "collective/internode/internode_collectives.h"
#include "collective/rank/checked_call.h"
#include "core/error.h"

namespace polypath::collective {

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
  enqueue(record_of(request_of(call)),
          *internode_schedule(*rank_, call, stream, pipeline_->network()), stream);
}

void InternodeCollectives::prepare(const CollectiveCall& call) {
  check_call(call);
  const auto steps = internode_schedule(*rank_, call, pipeline_->network(), pipeline_->network());
  steps->only_prepare();
  for (int piece = 0; piece < steps->pieces(); ++piece) steps->before(piece), steps->after(piece);
}

void InternodeCollectives::barrier(StreamHandle stream) {
  const CollectiveCall nothing;
  enqueue({.operation = "barrier"},
          *internode_barrier(*rank_, nothing, stream, pipeline_->network()), stream);
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
    pipeline_->issue(call, stream);
    last_call_ = proxy.end();
    communicator_->watch(number,
                         [&proxy, last = last_call_] { return proxy.calls_over() >= last; });
  } catch (const Error& error) {
    pipeline_->mark_end(stream);
    communicator_->check();
    communicator_->abort(error.what(), error.code());
    throw;
  }
}

}  // namespace polypath::collective
