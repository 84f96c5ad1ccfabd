#pragma once
// A stream whose copies are held, or are to go on while another one's are.

#include "harm.h"

namespace program {

enum class Way { in, out, between };
constexpr Way kWays[] = {Way::in, Way::out, Way::between};

inline const char* text_of(Way way) {
  return way == Way::in ? "in" : way == Way::out ? "out" : "between GPUs";
}

inline int gpus() {
  int count = 0;
  CHECK(cuDeviceGetCount(&count));
  return count;
}

// A stream of GPU 0 with buffers of its own, and a copy of each kind between them.
class Lane {
 public:
  explicit Lane(std::uint64_t seed)
      : bytes_(options().number("bytes", 64 * kMiB)),
        expected_(pattern(bytes_, seed)),
        from_(filled(0, bytes_, seed)),
        to_(memory_on(0, bytes_)) {
    if (gpus() > 1) far_ = memory_on(1, bytes_);
    use(0);
    source_ = static_cast<unsigned char*>(pinned(bytes_));
    target_ = static_cast<unsigned char*>(pinned(bytes_));
    std::memcpy(source_, expected_.data(), bytes_);
    stream_ = stream_on(0);
  }

  [[nodiscard]] CUstream stream() const { return stream_; }

  void copy(Way way) {
    if (way == Way::in) CHECK(cuMemcpyHtoDAsync_v2(to_, source_, bytes_, stream_));
    if (way == Way::out) CHECK(cuMemcpyDtoHAsync_v2(target_, from_, bytes_, stream_));
    if (way == Way::between) CHECK(cuMemcpyDtoDAsync_v2(far_, from_, bytes_, stream_));
  }
  void clear(Way way) {
    if (way == Way::in) CHECK(cuMemsetD8_v2(to_, 0, bytes_));
    if (way == Way::out) std::memset(target_, 0, bytes_);
    use(way == Way::between ? 1 : 0);
    if (way == Way::between) CHECK(cuMemsetD8_v2(far_, 0, bytes_));
    CHECK(cuCtxSynchronize());
    use(0);
  }
  [[nodiscard]] std::size_t wrong(Way way) const {
    if (way == Way::out) return wrong_bytes(target_, expected_);
    return wrong_bytes(way == Way::in ? to_ : far_, expected_);
  }

 private:
  std::size_t bytes_;
  std::vector<unsigned char> expected_;
  CUdeviceptr from_, to_, far_ = 0;
  unsigned char *source_ = nullptr, *target_ = nullptr;
  CUstream stream_ = nullptr;
};

inline std::vector<Way> ways() {
  return gpus() > 1 ? std::vector<Way>(std::begin(kWays), std::end(kWays))
                    : std::vector<Way>{Way::in, Way::out};
}

// Whatever is made at first copies has been made.
inline void warm_up(Lane& lane) {
  const std::size_t rounds = options().number("warm", 4);
  for (std::size_t i = 0; i < rounds; ++i)
    for (const Way way : ways()) lane.copy(way);
  CHECK(cuStreamSynchronize(lane.stream()));
}

}  // namespace program
