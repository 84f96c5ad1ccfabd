// Two things of which one must wait for the other by CUDA's rules: a large copy, and what comes
// before or after it in the same stream, in one that the default stream is ordered with, or in one
// that an event orders. The first of the two is held for a while. Every byte must be as if they had
// been done one after the other.
//
// Options: bytes, hold (milliseconds), by (value, function or work), fills and fill (how many and
// how large are those that keep a GPU busy).

#include "harm.h"

using namespace program;

namespace {

enum class Kind { pageable, pinned, between };
enum class Way { out, in };  // of the buffer that both touch

struct Stream {
  const char* name;
  CUstream handle;
};

// By CUDA's rules; of streams of the same name there is one.
bool ordered(const Stream& a, const Stream& b) {
  const std::string names = std::string(a.name) + " " + b.name;
  return a.handle == b.handle || names == "legacy blocking" || names == "blocking legacy" ||
         names == "legacy per-thread" || names == "per-thread legacy";
}

std::size_t bytes() { return options().number("bytes", 16 * kMiB + 4096 + 13); }

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

// One pair of streams.
class Trial {
 public:
  Trial(Rig& rig, By by, const Stream& first, const Stream& second, bool by_event)
      : rig_(rig), by_(by), first_(first), second_(second), by_event_(by_event) {
    CHECK(cuEventCreate(&event_, 2));
  }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;
  ~Trial() { CHECK(cuEventDestroy_v2(event_)); }

  std::size_t wrong(Way way, bool copy_first) {
    // Once while nothing is under way, as most programs do.
    rig_.copy(way, copy_first ? first_.handle : second_.handle);
    CHECK(cuCtxSynchronize());
    rig_.reset(way);
    Hold hold(by_);
    hold.in(first_.handle);
    {
      After release(std::chrono::milliseconds(options().number("hold", 20)),
                    [&] { hold.release(); });
      copy_first ? rig_.copy(way, first_.handle) : rig_.before(way, first_.handle);
      if (by_event_) {
        CHECK(cuEventRecord(event_, first_.handle));
        CHECK(cuStreamWaitEvent(second_.handle, event_, 0));
      }
      copy_first ? rig_.after(way, second_.handle) : rig_.copy(way, second_.handle);
    }
    CHECK(cuStreamSynchronize(second_.handle));
    CHECK(cuStreamSynchronize(first_.handle));
    return copy_first ? rig_.wrong_after_after(way) : rig_.wrong_after_before(way);
  }

  void run() {
    for (const Way way : {Way::out, Way::in})
      for (const bool copy_first : {false, true}) {
        const std::string what =
            std::string(first_.name) + " then " + second_.name + (by_event_ ? " by event" : "") +
            (way == Way::out ? ", out" : ", in") + (copy_first ? ", copy first" : ", copy second");
        say_bytes(what, wrong(way, copy_first));
      }
  }

 private:
  Rig& rig_;
  By by_;
  Stream first_, second_;
  bool by_event_;
  CUevent event_ = nullptr;
};

void all_orders(Kind kind, By by) {
  Rig rig(kind);
  const Stream streams[] = {{"legacy", nullptr},
                            {"blocking", stream_on(0, 0)},
                            {"non-blocking", stream_on(0, 1)},
                            {"per-thread", reinterpret_cast<CUstream>(2)}};
  for (const Stream& first : streams)
    for (const Stream& second : streams) {
      if (ordered(first, second)) Trial(rig, by, first, second, false).run();
      if (first.handle != second.handle) Trial(rig, by, first, second, true).run();
    }
}

void pageable() { all_orders(Kind::pageable, By::work); }
void pinned_memory() { all_orders(Kind::pinned, By::work); }
void between() { all_orders(Kind::between, By::work); }
void pageable_held() { all_orders(Kind::pageable, usual_hold()); }
void pinned_held() { all_orders(Kind::pinned, usual_hold()); }
void between_held() { all_orders(Kind::between, usual_hold()); }

// Nothing is held here, but there is much to do: many fills in the default stream.
std::size_t much() { return options().number("fill", 256 * kMiB); }

void fill_often(CUdeviceptr memory, unsigned char last) {
  const std::size_t fills = options().number("fills", 500);
  for (std::size_t i = 1; i <= fills; ++i)
    CHECK(cuMemsetD8Async(memory, i == fills ? last : static_cast<unsigned char>(i % 100), much(),
                          nullptr));
}

void fills_then_pageable_out() {
  const CUstream blocking = stream_on(0, 0);
  const CUdeviceptr memory = memory_on(0, much());
  std::vector<unsigned char> host(much());
  CHECK(cuMemcpyDtoHAsync_v2(host.data(), memory, much(), blocking));
  fill_often(memory, 0xc3);
  CHECK(cuMemcpyDtoHAsync_v2(host.data(), memory, much(), blocking));
  say_bytes("fills, then out to malloc memory",
            wrong_bytes(host.data(), std::vector<unsigned char>(much(), 0xc3)));
}

void copy_then_pageable_in() {
  const CUstream blocking = stream_on(0, 0);
  const CUdeviceptr memory = memory_on(0, much()), seen = memory_on(0, much());
  auto* host = static_cast<unsigned char*>(std::malloc(much()));
  std::memset(host, 0x3c, much());
  CHECK(cuMemcpyHtoDAsync_v2(memory, host, much(), blocking));
  CHECK(cuStreamSynchronize(blocking));
  fill_often(memory, 0xc3);
  CHECK(cuMemcpyDtoDAsync_v2(seen, memory, much(), nullptr));
  CHECK(cuMemcpyHtoDAsync_v2(memory, host, much(), blocking));
  std::memset(host, 0, much());
  CHECK(cuStreamSynchronize(blocking));
  say_bytes("what was read before", wrong_bytes(seen, std::vector<unsigned char>(much(), 0xc3)));
  say_bytes("what was written", wrong_bytes(memory, std::vector<unsigned char>(much(), 0x3c)));
}

const Scenarios kScenarios = {
    {"between", {2, between}},
    {"between_held", {2, between_held}},
    {"pageable", {1, pageable}},
    {"pageable_held", {1, pageable_held}},
    {"pinned", {1, pinned_memory}},
    {"pinned_held", {1, pinned_held}},
    {"fills_then_pageable_out", {1, fills_then_pageable_out}},
    {"copy_then_pageable_in", {1, copy_then_pageable_in}},
};

}  // namespace

int main(int argc, char** argv) { return run_scenario(kScenarios, argc, argv); }
