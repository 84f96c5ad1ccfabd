#include "driver/cuda/stream_room.h"

#include "core/ignore_errors.h"
#include "driver/cuda/contexts.h"
#include "driver/cuda/cuda_api.h"

namespace polypath::cuda {
namespace {

std::vector<StreamPointer> made_in(ContextPointer context, std::size_t count) {
  const RelaxedCapture relaxed;
  const Current current(context);
  std::vector<StreamPointer> streams;
  streams.reserve(count);
  StreamPointer stream = nullptr;
  while (streams.size() < count &&
         DriverLibrary::get().functions.stream_create(&stream, kStreamNonBlocking) == kSuccess)
    streams.push_back(stream);
  return streams;
}

}  // namespace

StreamRoom& StreamRoom::of_process() {
  static auto& room = *new StreamRoom;
  return room;
}

// Drivers before CUDA 12 do not number contexts: nothing tells whose a stream was. One context is
// new for the engine, which stages over its GPU, and later for the program: something may wait in
// it by then.
void StreamRoom::make(ContextPointer context, std::size_t count) noexcept {
  ignore_errors([&] {
    const std::uint64_t id = id_of(context);
    if (id == 0) return;
    {
      const std::scoped_lock lock(mutex_);
      const auto known = streams_.find(context);
      if (known != streams_.end() && known->second.context_id == id) return;
      streams_[context] = {id, {}};
    }
    for (const StreamPointer stream : made_in(context, count)) give(context, stream);
  });
}

// A context that is made again may have the pointer of an earlier context that is gone with its
// streams.
StreamRoom::Streams& StreamRoom::of(ContextPointer context) {
  Streams& known = streams_[context];
  if (const std::uint64_t id = id_of(context); known.context_id != id) known = {id, {}};
  return known;
}

StreamPointer StreamRoom::take(ContextPointer context) {
  const std::scoped_lock lock(mutex_);
  std::vector<StreamPointer>& spare = of(context).spare;
  if (spare.empty()) return nullptr;
  const StreamPointer stream = spare.back();
  spare.pop_back();
  return stream;
}

void StreamRoom::give(ContextPointer context, StreamPointer stream) {
  const std::scoped_lock lock(mutex_);
  if (Streams& known = of(context); known.context_id != 0) known.spare.push_back(stream);
}

}  // namespace polypath::cuda
