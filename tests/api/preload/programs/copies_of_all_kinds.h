#pragma once
// Large copies of every kind, again and again, with every byte compared: what a program does while
// something else is the matter.

#include "harm.h"

namespace program {

class CopiesOfAllKinds {
 public:
  CopiesOfAllKinds(int gpu, std::size_t bytes) : gpu_(gpu), bytes_(bytes) {
    int gpus = 0;
    CHECK(cuDeviceGetCount(&gpus));
    if (gpus > 1 && options().number("alone", 0) == 0) far_ = memory_on((gpu + 1) % gpus, bytes);
    near_ = memory_on(gpu, bytes);
    stream_ = stream_on(gpu);
    pinned_ = static_cast<unsigned char*>(pinned(bytes));
    pageable_.resize(bytes);
  }

  /// Wrong bytes of one round.
  std::size_t round(std::uint64_t seed) {
    use_own();
    const auto wanted = pattern(bytes_, seed);
    std::memcpy(pinned_, wanted.data(), bytes_);
    CHECK(cuMemcpyHtoDAsync_v2(near_, pinned_, bytes_, stream_));
    if (far_ != 0) {
      CHECK(cuMemcpyDtoDAsync_v2(far_, near_, bytes_, stream_));
      CHECK(cuMemsetD8Async(near_, 0, bytes_, stream_));
      CHECK(cuMemcpyDtoDAsync_v2(near_, far_, bytes_, stream_));
    }
    CHECK(cuMemcpyDtoHAsync_v2(pageable_.data(), near_, bytes_, stream_));
    CHECK(cuStreamSynchronize(stream_));
    std::size_t wrong = wrong_bytes(pageable_.data(), wanted);
    const auto others = pattern(bytes_, seed + 1000);
    CHECK(cuMemcpyHtoD_v2(near_, others.data(), bytes_));
    CHECK(cuMemcpyDtoHAsync_v2(pinned_, near_, bytes_, nullptr));
    CHECK(cuStreamSynchronize(nullptr));
    return wrong + wrong_bytes(pinned_, others);
  }

  std::size_t rounds(int count) {
    std::size_t wrong = 0;
    for (int i = 0; i < count; ++i) wrong += round(static_cast<std::uint64_t>(i));
    return wrong;
  }

 private:
  void use_own() { CHECK(cuCtxSetCurrent(context_ == nullptr ? own() : context_)); }
  CUcontext own() { return context_ = context_of(gpu_); }

  int gpu_;
  std::size_t bytes_;
  CUcontext context_ = nullptr;
  CUdeviceptr near_ = 0, far_ = 0;
  CUstream stream_ = nullptr;
  unsigned char* pinned_ = nullptr;
  std::vector<unsigned char> pageable_;
};

}  // namespace program
