// Two things of which one must wait for the other by CUDA's rules: a large copy, and what comes
// before or after it in the same stream, in one that the default stream is ordered with, or in one
// that an event orders. The first of the two is held for a while. Every byte must be as if they had
// been done one after the other.
//
// Options: bytes, hold (milliseconds), by (value, function or work), fills and fill (how many and
// how large are those that keep a GPU busy).

#include "ordered_copy.h"

using namespace program;

namespace {

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
