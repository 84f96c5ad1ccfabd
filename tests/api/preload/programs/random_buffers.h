#pragma once
// The buffers of a random program, which come and go, and what is in them.

#include "random_world.h"

namespace program {

inline void World::add_buffer(Kind kind) {
  if (buffers_.size() >= 12) return;
  const int gpu = actors_.any_gpu();
  const std::size_t bytes = chance_.size(size_.most_bytes);
  auto made = std::make_unique<Buffer>();
  CUresult result = 0;
  actors_.call(gpu, [&] {
    *made = make_buffer(kind, gpu, bytes, result);
    return result;
  });
  if (made->address == 0) return;
  if (made->on_host()) return keep_written(std::move(made));
  // What is in new memory of a GPU is nobody's business until it has been written.
  Stream& stream = actors_.any_stream_of(gpu);
  if (actors_.call_in(stream,
                      [&] { return cuMemsetD8Async(made->address, 0, bytes, stream.handle); }) != 0)
    return;
  actors_.enqueued(stream, {{made.get(), 0, bytes, true}});
  buffers_.push_back(std::move(made));
}

inline void World::keep_written(std::unique_ptr<Buffer> made) {
  chance_.fill(made->expected.data(), made->bytes());
  std::memcpy(made->host(), made->expected.data(), made->bytes());
  buffers_.push_back(std::move(made));
}

inline void World::free_any() {
  constexpr std::size_t kKept = 3;  // there is always something to copy
  if (buffers_.size() <= kKept) return;
  const std::size_t index = kKept + chance_.below(buffers_.size() - kKept);
  Buffer& buffer = *buffers_[index];
  if (buffer.kind == Kind::imported) return reopen(buffer);
  actors_.order({&buffer, 0, buffer.bytes(), true});
  actors_.call(buffer.gpu, [&] { return free_buffer(buffer); });
  buffers_.erase(buffers_.begin() + static_cast<std::ptrdiff_t>(index));
}

// In the context of any GPU, where it may get another address.
inline void World::reopen(Buffer& buffer) {
  actors_.order({&buffer, 0, buffer.bytes(), true});
  actors_.call(buffer.gpu, [&] { return free_buffer(buffer); });
  buffer.gpu = actors_.any_gpu();
  const std::size_t number = import_number(buffer);
  const CUresult result = actors_.call(
      buffer.gpu, [&] { return cuIpcOpenMemHandle_v2(&buffer.address, imports_[number], 1); });
  EXPECT(result == 0);
}

inline std::size_t World::import_number(const Buffer& sought) {
  std::size_t number = 0;
  for (const auto& buffer : buffers_) {
    if (buffer.get() == &sought) break;
    number += buffer->kind == Kind::imported;
  }
  return number;
}

inline void World::check_any() {
  Buffer& buffer = any_buffer();
  const std::size_t bytes = chance_.size(buffer.bytes());
  const std::size_t offset = any_offset(chance_, buffer, bytes);
  if (!buffer.on_gpu()) {
    actors_.order({&buffer, offset, bytes, false});
    return compare(buffer, buffer.host() + offset, offset, bytes);
  }
  Stream& stream = actors_.any_stream_of(buffer.gpu);
  std::vector<unsigned char> got(bytes);
  actors_.order(stream, {{&buffer, offset, bytes, false}});
  const CUresult result = actors_.call_in(stream, [&] {
    return cuMemcpyDtoHAsync_v2(got.data(), buffer.address + offset, bytes, stream.handle);
  });
  actors_.synchronize(stream);
  if (result == 0) compare(buffer, got.data(), offset, bytes);
}

inline void World::compare(const Buffer& buffer, const unsigned char* got, std::size_t offset,
                           std::size_t bytes) {
  const unsigned char* wanted = buffer.expected.data() + offset;
  if (std::memcmp(got, wanted, bytes) == 0) return;
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < bytes; ++i) wrong += got[i] != wanted[i];
  wrong_ += wrong;
  said_ += "step " + std::to_string(step_) + ": " + std::to_string(wrong) + " of " +
           std::to_string(bytes) + " bytes wrong in " + buffer.name() + "\n";
}

inline void World::check_at_end(const Buffer& buffer) {
  std::vector<unsigned char> got;
  use(buffer.gpu);
  if (buffer.on_gpu()) got = read(buffer.address, buffer.bytes());
  const unsigned char* bytes = buffer.on_gpu() ? got.data() : buffer.host();
  bytes_.add(bytes, buffer.bytes());
  compare(buffer, bytes, 0, buffer.bytes());
}

}  // namespace program
