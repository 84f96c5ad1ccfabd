#pragma once
// One copy of a random program: from where to where, in which stream and by which of CUDA's many
// functions; and what the program knows when the call has returned.

#include "random_actors.h"

namespace program {

struct Copy {
  Buffer *to, *from;
  std::size_t to_offset, from_offset, bytes;

  [[nodiscard]] CUdeviceptr destination() const { return to->address + to_offset; }
  [[nodiscard]] CUdeviceptr source() const { return from->address + from_offset; }
  [[nodiscard]] bool into_gpu() const { return to->on_gpu() && from->on_host(); }
  [[nodiscard]] bool out_of_gpu() const { return to->on_host() && from->on_gpu(); }
  [[nodiscard]] bool between() const { return to->on_gpu() && from->on_gpu(); }
  [[nodiscard]] bool pageable() const {
    return to->kind == Kind::pageable || from->kind == Kind::pageable;
  }
  /// CUDA makes it, and the bytes do not overlap.
  [[nodiscard]] bool possible() const {
    if (to->on_host() && from->on_host()) return false;
    if (pageable() && !into_gpu() && !out_of_gpu()) return false;  // managed memory's other end
    return to != from || to_offset + bytes <= from_offset || from_offset + bytes <= to_offset;
  }
  [[nodiscard]] std::vector<Access> accesses() const {
    return {{from, from_offset, bytes, false}, {to, to_offset, bytes, true}};
  }
  void apply() const {
    std::memcpy(to->expected.data() + to_offset, from->expected.data() + from_offset, bytes);
  }
};

inline std::size_t any_offset(Chance& chance, const Buffer& in, std::size_t bytes) {
  const std::size_t offset = chance.below(in.bytes() - bytes + 1);
  return chance.one_in(2) ? offset : offset / 512 * 512;
}

inline Copy any_copy(Chance& chance, std::vector<std::unique_ptr<Buffer>>& buffers) {
  for (;;) {
    Buffer *to = chance.of(buffers).get(), *from = chance.of(buffers).get();
    const std::size_t bytes = chance.size(std::min(to->bytes(), from->bytes()));
    const Copy copy{to, from, any_offset(chance, *to, bytes), any_offset(chance, *from, bytes),
                    bytes};
    if (copy.possible()) return copy;
  }
}

/// A call that returns before the copy is made, unless memory is pageable.
inline CUresult enqueue(const Actors& actors, Chance& chance, const Copy& copy,
                        const Stream& stream) {
  const CUdeviceptr to = copy.destination(), from = copy.source();
  if (stream.kind == StreamKind::per_thread && chance.one_in(2))
    return cuMemcpyAsync_ptsz(to, from, copy.bytes, nullptr);
  const bool typed = chance.one_in(2);
  if (typed && copy.into_gpu())
    return cuMemcpyHtoDAsync_v2(to, reinterpret_cast<void*>(from), copy.bytes, stream.handle);
  if (typed && copy.out_of_gpu())
    return cuMemcpyDtoHAsync_v2(reinterpret_cast<void*>(to), from, copy.bytes, stream.handle);
  if (typed && copy.between() && copy.to->gpu != copy.from->gpu)
    return cuMemcpyPeerAsync(to, actors.context(copy.to->gpu), from, actors.context(copy.from->gpu),
                             copy.bytes, stream.handle);
  if (typed && copy.between()) return cuMemcpyDtoDAsync_v2(to, from, copy.bytes, stream.handle);
  return cuMemcpyAsync(to, from, copy.bytes, stream.handle);
}

/// A call of the form that does without a stream.
inline CUresult copy_now(Chance& chance, const Copy& copy) {
  const CUdeviceptr to = copy.destination(), from = copy.source();
  const bool typed = chance.one_in(2);
  if (typed && copy.into_gpu())
    return cuMemcpyHtoD_v2(to, reinterpret_cast<void*>(from), copy.bytes);
  if (typed && copy.out_of_gpu())
    return cuMemcpyDtoH_v2(reinterpret_cast<void*>(to), from, copy.bytes);
  if (typed && copy.between()) return cuMemcpyDtoD_v2(to, from, copy.bytes);
  return cuMemcpy(to, from, copy.bytes);
}

/// Makes the copy, in order, and notes what follows from it.
inline void make_copy(Actors& actors, Chance& chance, const Copy& copy, Stream& stream) {
  const bool now = stream.kind == StreamKind::legacy && chance.one_in(2);
  // The call may read pageable memory before it looks at the stream.
  if (copy.from->kind == Kind::pageable) actors.order(copy.accesses().front());
  actors.order(stream, copy.accesses());
  const CUresult result = actors.call_in(
      stream, [&] { return now ? copy_now(chance, copy) : enqueue(actors, chance, copy, stream); });
  if (result != 0) return;
  copy.apply();
  // The source in pageable memory has been read when the call returns.
  if (copy.into_gpu() && copy.from->kind == Kind::pageable)
    actors.enqueued(stream, {copy.accesses().back()});
  else actors.enqueued(stream, copy.accesses());
  const bool over = copy.out_of_gpu() && (now || copy.pageable());
  if (over || (now && copy.into_gpu() && !copy.pageable())) actors.finished(stream);
}

}  // namespace program
