// What it costs to decide about copies that recur: two GPUs of beluga exchange 64 MiB, again and
// again, by their parts of a joint plan. Only the decision is timed; the copies run on the
// simulated driver, timing only.

#include <benchmark/benchmark.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "core/median.h"
#include "driver/sim/sim_driver.h"
#include "engine/engine.h"
#include "machine/load_machine.h"

namespace polypath::bench {
namespace {

constexpr int kRoundsUntilKnown = 8;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Two copies that go opposite ways, with an engine and its driver.
class Exchange {
 public:
  Exchange()
      : driver_(load_machine("beluga"), {false, false, false}),
        engine_(driver_, driver_.machine(), {}),
        calls_{call(0, 1), call(1, 0)} {
    for (int round = 0; round < kRoundsUntilKnown; ++round) {
      (void)decide(0), (void)decide(1);
      synchronize();
    }
  }

  // How long it takes to decide about one of the copies; then it is enqueued.
  double decide(std::size_t which) {
    const auto start = Clock::now();
    const Decision decision = engine_.decide(calls_[which], ends_[which]);
    const double seconds = seconds_since(start);
    of_set_ = of_set_ || decision.is_of_set();
    engine_.enqueue(decision);
    return seconds;
  }
  void synchronize() {
    for (const CopyCall& call : calls_) driver_.synchronize(call.stream);
  }
  [[nodiscard]] bool is_known() const { return of_set_; }

 private:
  CopyCall call(std::int32_t from, std::int32_t to) {
    return {.destination = driver_.allocate({to}, 64_MiB),
            .source = driver_.allocate({from}, 64_MiB),
            .bytes = 64_MiB,
            .stream = driver_.create_stream({from}),
            .stream_gpu = {from}};
  }

  sim::SimDriver driver_;
  Engine engine_;
  std::array<CopyCall, 2> calls_;
  std::array<CopyEnds, 2> ends_{CopyEnds{.destination = {1}, .source = {0}},
                                CopyEnds{.destination = {0}, .source = {1}}};
  std::atomic<bool> of_set_{false};
};

// Of the decisions: on a machine with other work the mean says more of that.
void report(benchmark::State& state, std::vector<double> seconds) {
  state.counters["median_ns"] = median(std::move(seconds)) * 1e9;
}

void decide_exchange(benchmark::State& state) {
  Exchange exchange;
  if (!exchange.is_known()) return state.SkipWithError("the exchange has no joint plan");
  std::vector<double> seconds;
  for (auto _ : state) {
    const double there = exchange.decide(0), back = exchange.decide(1);
    state.SetIterationTime(there + back);
    seconds.insert(seconds.end(), {there, back});
    exchange.synchronize();
  }
  report(state, std::move(seconds));
}
BENCHMARK(decide_exchange)->UseManualTime()->Iterations(10000);

// What two threads do in turns: each finds in the other core's cache what that has written.
class Turns {
 public:
  static constexpr int kCount = 3;

  template <class Act>
  void take(int turn, Act act) {
    while (turn_.load(std::memory_order_acquire) != turn) std::this_thread::yield();
    act();
    turn_.store((turn + 1) % kCount, std::memory_order_release);
  }

 private:
  std::atomic<int> turn_{0};
};

void decide_exchange_by_two_threads(benchmark::State& state) {
  Exchange exchange;
  if (!exchange.is_known()) return state.SkipWithError("the exchange has no joint plan");
  Turns turns;
  bool over = false;
  std::vector<double> seconds;
  std::thread other([&] {
    for (bool last = false; !last;)
      turns.take(1, [&] {
        if (!(last = over)) seconds.push_back(exchange.decide(1));
      });
  });
  for (auto _ : state) {
    turns.take(0, [&] { seconds.push_back(exchange.decide(0)); });
    turns.take(2, [&] {
      state.SetIterationTime(seconds.end()[-2] + seconds.back());
      exchange.synchronize();
    });
  }
  turns.take(0, [&] { over = true; });
  other.join();
  report(state, std::move(seconds));
}
BENCHMARK(decide_exchange_by_two_threads)->UseManualTime()->Iterations(10000);

}  // namespace
}  // namespace polypath::bench
