#pragma once
// The same copies round after round on a simulated machine without bytes: issued by one thread, by
// threads of one process, or by processes that share a ledger whose clock is the simulated one.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "driver/sim/sim_driver.h"
#include "engine/engine.h"
#include "plan/joint/joint.h"
#include "support/layers.h"

namespace polypath::test {

/// Buffers, streams and engines for the copies of a round.
class RecurringRounds {
 public:
  RecurringRounds(const Machine& machine, const std::vector<JointTransfer>& copies, Issuers issuers,
                  Settings settings = {})
      : driver_(machine, sim::kTimingOnly), issuers_(issuers) {
    settings.log_level = "off";
    for (const JointTransfer& copy : copies) {
      const bool pushes = machine.place(copy.source).kind == PlaceKind::gpu;
      const PlaceId gpu = pushes ? copy.source : copy.destination;
      if (engines_.empty() || issuers == Issuers::processes) add_engine(machine, settings);
      calls_.push_back({.destination = driver_.allocate(copy.destination, copy.bytes),
                        .source = driver_.allocate(copy.source, copy.bytes),
                        .bytes = copy.bytes,
                        .stream = driver_.create_stream(gpu),
                        .stream_gpu = gpu});
    }
    results_.resize(calls_.size());
  }
  ~RecurringRounds() {
    for (const CopyCall& call : calls_) driver_.synchronize(call.stream);
    engines_.clear();
    std::filesystem::remove_all(folder_);
  }
  RecurringRounds(const RecurringRounds&) = delete;
  RecurringRounds& operator=(const RecurringRounds&) = delete;

  /// Issues every copy `window` times, then waits for all: from the first call until the last wait.
  Seconds run(int window = 1) {
    driver_.align_host_threads();
    const Seconds start = driver_.now();
    for (int i = 0; i < window; ++i)
      for (std::size_t k = 0; k < calls_.size(); ++k) issue(k);
    for (std::size_t k = 0; k < calls_.size(); ++k) {
      use_thread_of(k);
      driver_.synchronize(calls_[k].stream);
    }
    driver_.align_host_threads();
    return driver_.now() - start;
  }
  /// So long nothing is copied.
  void pause(Seconds duration) {
    driver_.align_host_threads();
    driver_.pass_time(duration);
  }
  /// How each copy was done in the last round; of several, the last one.
  [[nodiscard]] const std::vector<CopyResult>& results() const { return results_; }
  /// The copies from now on are of these sizes, no larger than at first.
  [[nodiscard]] std::vector<CopyCall>& calls() { return calls_; }
  [[nodiscard]] Engine& engine_of(std::size_t copy) {
    return *engines_[issuers_ == Issuers::processes ? copy : 0];
  }

 private:
  void add_engine(const Machine& machine, const Settings& settings) {
    std::unique_ptr<NodeLedger> ledger;
    if (issuers_ == Issuers::processes) {
      std::vector<std::string> names;
      for (const Place& place : machine.places) names.push_back("node-wide " + place.name);
      ledger = std::make_unique<NodeLedger>(folder_, machine, names,
                                            [this] { return driver_.now().value; });
    }
    engines_.push_back(std::make_unique<Engine>(
        driver_, machine, settings, std::make_shared<LoadTracker>(machine, std::move(ledger))));
  }
  void use_thread_of(std::size_t copy) {
    driver_.use_host_thread(issuers_ == Issuers::one_thread ? 0 : copy);
  }
  void issue(std::size_t copy) {
    use_thread_of(copy);
    results_[copy] = engine_of(copy).copy(calls_[copy]);
  }

  // Of this test alone.
  static std::string own_folder() {
    static int made = 0;
    const std::string name = fmt::format("polypath_rounds_{}_{}", getpid(), made++);
    return (std::filesystem::temp_directory_path() / name).string();
  }

  sim::SimDriver driver_;
  Issuers issuers_;
  std::string folder_ = own_folder();
  std::vector<std::unique_ptr<Engine>> engines_;
  std::vector<CopyCall> calls_;
  std::vector<CopyResult> results_;
};

}  // namespace polypath::test
