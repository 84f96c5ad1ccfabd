#pragma once
// What a random program does with its buffers, a step at a time.

#include "random_world.h"

namespace program {

inline void World::copy() {
  const Copy copy = any_copy(chance_, buffers_);
  const Buffer& near = copy.from->on_host() ? *copy.to : *copy.from;
  Stream& stream = chance_.one_in(8) ? actors_.any_stream() : actors_.any_stream_of(near.gpu);
  make_copy(actors_, chance_, copy, stream);
  ++copies_;
}

inline void World::fill() {
  Buffer& buffer = any_buffer();
  if (buffer.on_host()) return;
  const std::size_t bytes = chance_.size(buffer.bytes());
  const std::size_t offset = any_offset(chance_, buffer, bytes);
  const auto value = static_cast<unsigned char>(chance_.below(256));
  Stream& stream = actors_.any_stream_of(buffer.gpu);
  const Access access{&buffer, offset, bytes, true};
  actors_.order(stream, {access});
  const CUresult result = actors_.call_in(stream, [&] {
    return cuMemsetD8Async(buffer.address + offset, value, bytes, stream.handle);
  });
  if (result != 0) return;
  std::memset(buffer.expected.data() + offset, value, bytes);
  actors_.enqueued(stream, {access});
}

inline void World::write_by_host() {
  Buffer& buffer = any_buffer();
  if (!buffer.on_host()) return;
  const std::size_t bytes = chance_.size(buffer.bytes());
  const std::size_t offset = any_offset(chance_, buffer, bytes);
  actors_.order({&buffer, offset, bytes, true});
  chance_.fill(buffer.expected.data() + offset, bytes);
  std::memcpy(buffer.host() + offset, buffer.expected.data() + offset, bytes);
}

/// What a function of the program writes into host memory.
struct Filling {
  unsigned char* at;
  std::size_t bytes;
  unsigned char value;
};

// The program's own function in a stream, which fills host memory.
inline void World::host_function() {
  Buffer& buffer = any_buffer();
  if (!buffer.on_host()) return;
  const std::size_t bytes = chance_.size(buffer.bytes());
  const std::size_t offset = any_offset(chance_, buffer, bytes);
  const auto value = static_cast<unsigned char>(chance_.below(256));
  Stream& stream = actors_.any_stream();
  const Access access{&buffer, offset, bytes, true};
  actors_.order(stream, {access});
  auto* filling = new Filling{buffer.host() + offset, bytes, value};
  const CUresult result = actors_.call_in(stream, [&] {
    return cuLaunchHostFunc(
        stream.handle,
        [](void* data) {
          const std::unique_ptr<Filling> asked(static_cast<Filling*>(data));
          std::memset(asked->at, asked->value, asked->bytes);
        },
        filling);
  });
  if (result != 0) return;
  std::memset(buffer.expected.data() + offset, value, bytes);
  actors_.enqueued(stream, {access});
}

// What comes later in the stream, or waits for it, waits for a while.
inline void World::be_slow() {
  Stream& stream = actors_.any_stream();
  const auto time = std::chrono::milliseconds(1 + chance_.below(4));
  auto hold = std::make_shared<Hold>(chance_.one_in(2) ? By::value : By::function);
  if (actors_.call_in(stream, [&] { return hold->try_in(stream.handle); }) != 0) return;
  holds_.push_back(std::make_unique<After>(time, [hold] { hold->release(); }));
  actors_.enqueued(stream, {});
}

inline void World::change_streams() {
  if (chance_.one_in(2))
    return actors_.add_stream(actors_.any_gpu(),
                              chance_.one_in(2) ? StreamKind::blocking : StreamKind::non_blocking);
  Stream& stream = actors_.any_stream();
  const bool created = stream.handle != nullptr && stream.kind != StreamKind::per_thread;
  if (created) actors_.destroy(stream);
}

inline void World::peer_access() {
  if (!size_.alone) return;
  const int from = actors_.any_gpu(), to = actors_.any_gpu();
  for (int gpu = 0; gpu < size_.gpus; ++gpu) actors_.synchronize_context(gpu);
  const bool enable = !chance_.one_in(3);
  actors_.call(from, [&] {
    return enable ? cuCtxEnablePeerAccess(actors_.context(to), 0)
                  : cuCtxDisablePeerAccess(actors_.context(to));
  });
}

// The driver refuses it, and nothing is copied.
inline void World::beyond_the_end() {
  Buffer &to = any_buffer(), &from = any_buffer();
  if (to.kind != Kind::device || from.kind != Kind::device) return;
  const Stream& stream = actors_.any_stream_of(from.gpu);
  actors_.call_in(stream, [&] {
    return cuMemcpyDtoDAsync_v2(to.address, from.address, (std::size_t{1} << 40), stream.handle);
  });
}

}  // namespace program
