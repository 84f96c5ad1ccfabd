#include "api/preload/session_order.h"

namespace polypath::preload {

std::vector<PlaceId> SessionOrder::other_gpus(const ProgramQuestion& question) {
  std::vector<PlaceId> others;
  for (const ProgramEnd& end : {question.ends.source, question.ends.destination})
    if (end.is_device() && end.memory.place != question.gpu && may_order_with(end))
      others.push_back(end.memory.place);
  return others;
}

// The owner of imported memory has its streams in another process. A stream
// that is captured beside the default one must not be disturbed.
bool SessionOrder::may_order_with(const ProgramEnd& end) {
  return !end.imported && streams_.has_default_stream(end.memory.place) &&
         !driver_.is_capturing(driver_.foreign_stream(end.memory.place, 0));
}

void SessionOrder::order(const CopyCall& call, const std::vector<PlaceId>& others, bool before) {
  const std::scoped_lock lock(mutex_);
  // Also where there are no other streams: the stream then waits last for work
  // of its own, for which other streams of its context wait in turn.
  if (!before) driver_.record(ordered_.on(call.stream_gpu), call.stream);
  for (const PlaceId gpu : others) {
    const StreamHandle other = driver_.foreign_stream(gpu, 0);
    if (before) {
      driver_.record(ordered_.on(gpu), other);
      driver_.wait(call.stream, ordered_.on(gpu));
    } else {
      driver_.wait(other, ordered_.on(call.stream_gpu));
    }
  }
}

}  // namespace polypath::preload
