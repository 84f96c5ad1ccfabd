#pragma once
// Work in a stream that waits until it is let go.

#include "driver/driver.h"
#include "model/program.h"
#include "support/layers.h"

namespace polypath::test {

/// What is put into the stream while this lives starts only after release(), or at the end.
class HeldStream {
 public:
  HeldStream(Driver& driver, StreamHandle stream, PlaceId gpu)
      : driver_(driver), stream_(stream), gpu_(gpu), flag_(driver.allocate(gpu, kFlagBytes)) {
    driver_.wait_value(stream_, flag_, gpu_, kReleased);
  }
  HeldStream(const HeldStream&) = delete;
  HeldStream& operator=(const HeldStream&) = delete;
  ~HeldStream() { release(); }

  /// Waits until all that is in the stream is done. Once.
  void release() {
    if (flag_.value == 0) return;
    driver_.signal(flag_, gpu_, kReleased);
    driver_.synchronize(stream_);
    driver_.free(flag_);
    flag_ = {};
  }

 private:
  static constexpr std::uint32_t kReleased = 0x5e7;

  Driver& driver_;
  StreamHandle stream_;
  PlaceId gpu_;
  Address flag_;
};

}  // namespace polypath::test
