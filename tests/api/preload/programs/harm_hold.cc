// A stream is held, and a large copy waits in it. What has nothing to do with it must go on where
// it goes on without Polypath: large copies in another stream, and calls that make and free things.
// A watchdog lets the stream go after a while and says that the call had blocked.
//
// Options: bytes, watchdog (milliseconds), warm (copies of each kind before), by (value or
// function).

#include "lane.h"

using namespace program;

namespace {

void beside(Lane& held, Lane& other, By by, Way behind, Way asked) {
  held.clear(behind);
  other.clear(asked);
  Hold hold(by);
  hold.in(held.stream());
  const bool blocked = blocks(hold, [&] {
    held.copy(behind);
    other.copy(asked);
    CHECK(cuStreamSynchronize(other.stream()));
  });
  hold.release();
  CHECK(cuStreamSynchronize(held.stream()));
  const std::string what =
      std::string(text_of(by)) + " before " + text_of(behind) + ", beside it " + text_of(asked);
  say_blocked(what, blocked);
  say_bytes(what, held.wrong(behind) + other.wrong(asked));
}

void copies(By by) {
  use(0);
  Lane held(1), other(2);
  warm_up(held);
  warm_up(other);
  for (const Way behind : ways())
    for (const Way asked : ways()) beside(held, other, by, behind, asked);
}

void copies_by_value() { copies(By::value); }
void copies_by_function() { copies(By::function); }

// The first large copies of the program are those behind and beside what is held.
void first_copies() {
  use(0);
  Lane held(1), other(2);
  beside(held, other, usual_hold(), Way::in, Way::in);
}

// Copies of many streams at once behind holds of their own, let go in the other order.
void many_streams() {
  use(0);
  constexpr int kStreams = 6;
  std::vector<std::unique_ptr<Lane>> lanes;
  std::vector<std::unique_ptr<Hold>> holds;
  for (std::uint64_t i = 0; i < kStreams; ++i) {
    lanes.push_back(std::make_unique<Lane>(i));
    holds.push_back(std::make_unique<Hold>(usual_hold()));
  }
  After watchdog(watchdog_time(), [&] {
    for (const auto& hold : holds) hold->release();
  });
  for (std::size_t i = 0; i < kStreams; ++i) {
    holds[i]->in(lanes[i]->stream());
    lanes[i]->copy(Way::in);
    lanes[i]->copy(Way::out);
  }
  for (std::size_t i = kStreams; i-- > 0;) {
    holds[i]->release();
    CHECK(cuStreamSynchronize(lanes[i]->stream()));
  }
  say_blocked("let go one by one", watchdog.take_back());
  for (const auto& lane : lanes)
    say_bytes("many streams", lane->wrong(Way::in) + lane->wrong(Way::out));
}

// The calls that a program may make meanwhile. What they need has been made before; what they made
// stays.
struct Things {
  CUdeviceptr memory = 0;
  void* host = nullptr;
  CUstream stream = nullptr;
};

using Call = void (*)(Things&);

const std::pair<const char*, Call> kCalls[] = {
    {"cuMemAlloc",
     [](Things&) {
       CUdeviceptr memory = 0;
       CHECK(cuMemAlloc_v2(&memory, 4 * kMiB));
     }},
    {"cuMemHostAlloc", [](Things&) { (void)pinned(4 * kMiB); }},
    {"cuStreamCreate",
     [](Things&) {
       CUstream stream = nullptr;
       CHECK(cuStreamCreate(&stream, 1));
     }},
    {"cuEventCreate",
     [](Things&) {
       CUevent event = nullptr;
       CHECK(cuEventCreate(&event, 2));
     }},
    {"cuStreamDestroy", [](Things& things) { CHECK(cuStreamDestroy_v2(things.stream)); }},
    {"cuMemFreeHost", [](Things& things) { CHECK(cuMemFreeHost(things.host)); }},
    {"cuMemFree", [](Things& things) { CHECK(cuMemFree_v2(things.memory)); }},
    {"cuMemcpyHtoD",
     [](Things& things) { CHECK(cuMemcpyHtoD_v2(things.memory, things.host, 4096)); }},
    {"cuCtxSynchronize", [](Things&) { CHECK(cuCtxSynchronize()); }},
};

Things things_on(int gpu) {
  Things made;
  made.memory = memory_on(gpu, 4 * kMiB);
  made.host = pinned(4 * kMiB);
  made.stream = stream_on(gpu);
  return made;
}

// On GPU `gpu`, while something on GPU 0 is held that a copy waits for.
void calls_on(int gpu, By by, Way behind) {
  use(0);
  Lane held(1);
  warm_up(held);
  for (const auto& [name, call] : kCalls) {
    Things things = things_on(gpu);
    CHECK(cuCtxSynchronize());
    use(0);
    Hold hold(by);
    hold.in(held.stream());
    const bool blocked = blocks(hold, [&] {
      held.copy(behind);
      use(gpu);
      call(things);
    });
    hold.release();
    use(0);
    CHECK(cuStreamSynchronize(held.stream()));
    say_blocked(std::string(name) + " on GPU " + std::to_string(gpu) + ", " + program::text_of(by) +
                    " before " + text_of(behind),
                blocked);
  }
  say_bytes("the copy that waited", held.wrong(behind));
}

void calls_here() { calls_on(0, usual_hold(), Way::in); }
void calls_elsewhere_in() { calls_on(1, usual_hold(), Way::in); }
void calls_elsewhere_out() { calls_on(1, usual_hold(), Way::out); }
void calls_elsewhere_by_function() { calls_on(1, By::function, Way::in); }

// Pageable copies wait for what is in their stream, and for nothing else.
void pageable() {
  use(0);
  Lane held(1);
  const std::size_t size = options().number("bytes", 64 * kMiB);
  const CUstream stream = stream_on(0);
  const CUdeviceptr memory = filled(0, size, 5);
  auto* host = static_cast<unsigned char*>(std::malloc(size));
  for (const Way behind : ways()) {
    Hold hold(usual_hold());
    std::memset(host, 0, size);
    hold.in(held.stream());
    const bool blocked = blocks(hold, [&] {
      held.copy(behind);
      CHECK(cuMemcpyDtoHAsync_v2(host, memory, size, stream));
      CHECK(cuMemcpyHtoDAsync_v2(memory, host, size, stream));
      CHECK(cuStreamSynchronize(stream));
    });
    hold.release();
    CHECK(cuStreamSynchronize(held.stream()));
    say_blocked(std::string("pageable beside ") + text_of(behind), blocked);
    say_bytes("pageable",
              wrong_bytes(host, pattern(size, 5)) + wrong_bytes(memory, pattern(size, 5)));
  }
}

// Streams of ours are streams of the program's context, which has room for 35 before making one
// more waits for all that is held. This program has fewer.
void new_streams() {
  constexpr int kBefore = 16, kMeanwhile = 16;
  use(0);
  Lane held(1);
  warm_up(held);
  for (int i = 0; i < kBefore; ++i) (void)stream_on(0);
  Hold hold(usual_hold());
  hold.in(held.stream());
  const bool blocked = blocks(hold, [&] {
    held.copy(Way::in);
    for (int i = 0; i < kMeanwhile; ++i) (void)stream_on(0);
  });
  hold.release();
  CHECK(cuStreamSynchronize(held.stream()));
  say_blocked("new streams", blocked);
  say_bytes("new streams", held.wrong(Way::in));
}

const Scenarios kScenarios = {
    {"copies_by_value", {1, copies_by_value}},
    {"copies_by_function", {1, copies_by_function}},
    {"first_copies", {1, first_copies}},
    {"many_streams", {1, many_streams}},
    {"calls_here", {1, calls_here}},
    {"calls_elsewhere_in", {2, calls_elsewhere_in}},
    {"calls_elsewhere_out", {2, calls_elsewhere_out}},
    {"calls_elsewhere_by_function", {2, calls_elsewhere_by_function}},
    {"new_streams", {1, new_streams}},
    {"pageable", {1, pageable}},
};

}  // namespace

int main(int argc, char** argv) { return run_scenario(kScenarios, argc, argv); }
