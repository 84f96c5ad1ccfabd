#include "standin/state/streams.h"

#include <algorithm>

namespace polypath::standin {
namespace {

bool belongs(const Stream& stream, ContextPointer context) { return stream.context == context; }

}  // namespace

Stream& Streams::add(ContextPointer context, StreamHandle work, unsigned flags) {
  auto made = std::make_unique<Stream>();
  Stream& stream = *made;
  stream.context = context;
  stream.flags = flags;
  stream.blocking = (flags & cuda::kStreamNonBlocking) == 0;
  stream.work = work;
  stream.handle = streams_.add(std::move(made));
  return stream;
}

Stream& Streams::create(const Context& context, unsigned flags, int priority) {
  Stream& stream =
      add(context.handle, runner_.create_stream(context.gpu, context.handle, false), flags);
  stream.priority = priority;
  return stream;
}

std::size_t Streams::count(const Context& context) const {
  const auto& all = streams_.all();
  return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [&](const auto& entry) {
    return belongs(*entry.second, context.handle) && !entry.second->legacy;
  }));
}

void Streams::give_up(const Stream& stream) {
  runner_.destroy_stream(stream.work);
  std::erase_if(joined_, [&](const auto& entry) {
    return entry.first.first == stream.handle || entry.first.second == stream.handle;
  });
}

void Streams::destroy(StreamPointer pointer) {
  const auto stream = streams_.take(pointer);
  if (stream->capturing.active()) stream->capturing.capture->invalid = true;
  if (contexts_.is_alive(stream->context))
    memory_.leave_behind(contexts_.find(stream->context).gpu);
  give_up(*stream);
}

Stream& Streams::default_stream(const Context& context, DefaultStream which) {
  const bool legacy = which == DefaultStream::legacy;
  StreamPointer& known =
      legacy ? legacy_[context.handle] : per_thread_[{context.handle, std::this_thread::get_id()}];
  if (known != nullptr) return streams_.find(known);
  Stream& made = add(context.handle, runner_.create_stream(context.gpu, context.handle, true), 0);
  made.legacy = legacy;
  known = made.handle;
  return made;
}

Stream& Streams::find(StreamArgument argument) {
  const auto own = [&](DefaultStream which) -> Stream& {
    return default_stream(contexts_.current(), which);
  };
  if (argument.stream == kLegacyStream) return own(DefaultStream::legacy);
  if (argument.stream == kPerThreadStream) return own(DefaultStream::per_thread);
  if (argument.stream == nullptr) return own(argument.zero);
  return streams_.find(argument.stream);
}

// The present work of `earlier` comes before all later work of `later`.
void Streams::join(Stream& later, const Stream& earlier) {
  std::uint64_t& joined = joined_[{later.handle, earlier.handle}];
  if (joined == earlier.used) return;
  runner_.join(later.work, earlier.work);
  joined = earlier.used;
}

// The legacy default stream of a context and its blocking streams, as seen from either.
std::vector<Stream*> Streams::in_order_with(const Stream& stream) const {
  std::vector<Stream*> others;
  for (const auto& [handle, other] : streams_.all()) {
    if (other.get() == &stream || !belongs(*other, stream.context)) continue;
    if (!other->blocking || !stream.blocking || other->legacy == stream.legacy) continue;
    if (stream.legacy && other->capturing.active())
      spoil(other->capturing, kStreamCaptureImplicit,
            "the default stream would wait for a captured one");
    others.push_back(other.get());
  }
  return others;
}

void Streams::order(Stream& stream) {
  for (const Stream* other : in_order_with(stream)) join(stream, *other);
  ++stream.used;
}

void Streams::come_after(Stream& legacy, ContextPointer context) {
  Stream& theirs = default_stream(contexts_.find(context), DefaultStream::legacy);
  order(theirs);
  join(legacy, theirs);
}

void Streams::hold_back(ContextPointer context, const Stream& legacy) {
  Stream& theirs = default_stream(contexts_.find(context), DefaultStream::legacy);
  runner_.join(theirs.work, legacy.work);
  ++theirs.used;
}

std::vector<StreamHandle> Streams::awaited_with(const Stream& stream) const {
  std::vector<StreamHandle> all = {stream.work};
  if (!stream.legacy) return all;
  for (const Stream* other : in_order_with(stream)) all.push_back(other->work);
  return all;
}

Waiting Streams::finish(Stream& stream) { return runner_.finish(awaited_with(stream)); }

Waiting Streams::finish_all(ContextPointer context) {
  std::vector<StreamHandle> all;
  for (const auto& [handle, stream] : streams_.all())
    if (belongs(*stream, context)) all.push_back(stream->work);
  return runner_.finish_context(all, contexts_.find(context).gpu);
}

bool Streams::is_done(Stream& stream) { return runner_.is_done(awaited_with(stream)); }

std::vector<Stream*> Streams::streams_of(const Capture& capture) const {
  std::vector<Stream*> streams;
  for (const auto& [handle, stream] : streams_.all())
    if (stream->capturing.capture.get() == &capture) streams.push_back(stream.get());
  return streams;
}

void Streams::leave(const Capture& capture) const {
  for (Stream* stream : streams_of(capture)) stream->capturing = {};
}

void Streams::remove_all(ContextPointer context) {
  for (const auto& [handle, stream] : streams_.all())
    if (belongs(*stream, context)) give_up(*stream);
  streams_.erase_if([&](const Stream& stream) { return belongs(stream, context); });
  legacy_.erase(context);
  std::erase_if(per_thread_, [&](const auto& entry) { return entry.first.first == context; });
}

}  // namespace polypath::standin
