#pragma once
// A large copy, and what must come before it or after it.

#include "harm.h"

namespace program {

enum class Kind { pageable, pinned, between };
enum class Way { out, in };  // of the buffer that both touch

inline std::size_t bytes() { return options().number("bytes", 16 * kMiB + 4096 + 13); }

// A buffer on GPU 0 that is copied out of or into, what it may hold, and the other end of the copy.
class Rig {
 public:
  explicit Rig(Kind kind)
      : kind_(kind),
        buffer_(memory_on(0, bytes())),
        aside_(memory_on(0, bytes())),
        old_(filled(0, bytes(), 1)),
        new_(filled(0, bytes(), 2)) {
    if (kind == Kind::between) {
      far_source_ = filled(1, bytes(), 3);
      far_target_ = memory_on(1, bytes());
    }
    use(0);
    if (kind == Kind::pinned) host_ = static_cast<unsigned char*>(pinned(bytes()));
    if (kind == Kind::pageable) host_ = static_cast<unsigned char*>(std::malloc(bytes()));
  }

  /// Everything as it is before a trial.
  void reset(Way way) {
    CHECK(cuMemcpyDtoDAsync_v2(buffer_, old_, bytes(), nullptr));
    CHECK(cuMemsetD8_v2(aside_, 0x5a, bytes()));
    if (kind_ == Kind::between) fill_far();
    else if (way == Way::out) std::memset(host_, 0x5a, bytes());
    else std::memcpy(host_, others_.data(), bytes());
    CHECK(cuCtxSynchronize());
  }

  /// In its own context: another one reaches it only with peer access.
  void fill_far() {
    use(1);
    CHECK(cuMemsetD8_v2(far_target_, 0x5a, bytes()));
    CHECK(cuCtxSynchronize());
    use(0);
  }

  /// The large copy. The bytes of pageable memory are there, or have been taken, when it returns.
  void copy(Way way, CUstream stream) {
    if (kind_ == Kind::between)
      CHECK(cuMemcpyDtoDAsync_v2(way == Way::out ? far_target_ : buffer_,
                                 way == Way::out ? buffer_ : far_source_, bytes(), stream));
    else if (way == Way::out) CHECK(cuMemcpyDtoHAsync_v2(host_, buffer_, bytes(), stream));
    else CHECK(cuMemcpyHtoDAsync_v2(buffer_, host_, bytes(), stream));
    if (kind_ != Kind::pageable) return;
    if (way == Way::out) taken_.assign(host_, host_ + bytes());
    else std::memset(host_, 0xee, bytes());
  }

  /// What the copy must wait for: the buffer gets what is to be read, or is read.
  void before(Way way, CUstream stream) {
    const bool out = way == Way::out;
    CHECK(cuMemcpyDtoDAsync_v2(out ? buffer_ : aside_, out ? new_ : buffer_, bytes(), stream));
  }
  /// What must wait for the copy.
  void after(Way way, CUstream stream) {
    if (way == Way::out) CHECK(cuMemsetD8Async(buffer_, 0xee, bytes(), stream));
    else CHECK(cuMemcpyDtoDAsync_v2(aside_, buffer_, bytes(), stream));
  }

  /// Wrong bytes after `before` and a copy.
  std::size_t wrong_after_before(Way way) {
    if (way == Way::out) return wrong_at_far_end(news_);
    return wrong_bytes(aside_, olds_) + wrong_bytes(buffer_, others_);
  }
  /// The same after a copy and `after`.
  std::size_t wrong_after_after(Way way) {
    return way == Way::out ? wrong_at_far_end(olds_) : wrong_bytes(aside_, others_);
  }

 private:
  std::size_t wrong_at_far_end(const std::vector<unsigned char>& wanted) {
    if (kind_ == Kind::between) return wrong_bytes(far_target_, wanted);
    return wrong_bytes(kind_ == Kind::pageable ? taken_.data() : host_, wanted);
  }

  Kind kind_;
  CUdeviceptr buffer_, aside_, old_, new_, far_source_ = 0, far_target_ = 0;
  unsigned char* host_ = nullptr;
  std::vector<unsigned char> taken_;
  const std::vector<unsigned char> olds_ = pattern(bytes(), 1), news_ = pattern(bytes(), 2),
                                   others_ = pattern(bytes(), 3);
};

}  // namespace program
