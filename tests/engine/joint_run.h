#pragma once
// Joint plans on a simulated machine: what a set of transfers takes there, run by the executors.

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "driver/sim/sim_driver.h"
#include "engine/execute/graph_executor.h"
#include "engine/execute/stream_executor.h"
#include "plan/joint/joint.h"
#include "support/layers.h"

namespace polypath::test {

/// The plans of a set bound to buffers and streams; each has streams and rings of its own, as
/// transfers in lanes of their own have.
class JointRun {
 public:
  JointRun(const Machine& machine, const JointPlan& joint, Issuers issuers,
           const sim::Options& options = sim::kTimingOnly)
      : driver_(machine, options), issuers_(issuers), order_(joint.order) {
    for (const PlanPointer& plan : joint.plans)
      parts_.push_back(std::make_unique<Part>(driver_, plan));
  }
  ~JointRun() {
    for (const auto& part : parts_) driver_.synchronize(part->stream);
  }
  JointRun(const JointRun&) = delete;
  JointRun& operator=(const JointRun&) = delete;

  /// Runs all once; returns when each had ended, from the first call on. Call it once beforehand:
  /// the first run instantiates graphs.
  std::vector<Seconds> run() {
    for (const auto& part : parts_) part->prepare();
    driver_.use_host_thread(0);
    driver_.align_host_threads();
    const Seconds start = driver_.now();
    for (const std::size_t k : order_) {
      if (issuers_ != Issuers::one_thread) driver_.use_host_thread(k);
      parts_[k]->issue();
    }
    std::vector<Seconds> ends;
    for (std::size_t k = 0; k < parts_.size(); ++k) {
      if (issuers_ != Issuers::one_thread) driver_.use_host_thread(k);
      driver_.synchronize(parts_[k]->stream);
      ends.push_back(driver_.now() - start);
    }
    return ends;
  }

  sim::SimDriver& driver() { return driver_; }
  /// Source and destination of a transfer.
  [[nodiscard]] const std::array<Address, 2>& buffers(std::size_t transfer) const {
    return parts_[transfer]->buffers;
  }

 private:
  struct Part {
    Part(sim::SimDriver& driver, PlanPointer made)
        : plan(std::move(made)),
          hops(driver, driver.machine(), Settings{}),
          streams(driver, hops),
          graphs(driver, hops, Settings{}, statistics) {
      const bool pushes = driver.machine().place(plan->source).kind == PlaceKind::gpu;
      gpu = pushes ? plan->source : plan->destination;
      buffers = {driver.allocate(plan->source, plan->bytes),
                 driver.allocate(plan->destination, plan->bytes)};
      stream = driver.create_stream(gpu);
    }

    [[nodiscard]] Transfer transfer() const {
      return {.program = &plan->program,
              .structure = plan->structure,
              .buffers = buffers,
              .stream = stream,
              .stream_gpu = gpu};
    }
    [[nodiscard]] bool as_graph() const { return plan->executor() == Executor::graph; }
    void prepare() { as_graph() ? graphs.prepare(transfer()) : streams.prepare(transfer()); }
    void issue() { as_graph() ? graphs.run(transfer()) : streams.run(transfer()); }

    PlanPointer plan;
    Hops hops;
    Statistics statistics;
    StreamExecutor streams;
    GraphExecutor graphs;
    PlaceId gpu;
    std::array<Address, 2> buffers{};
    StreamHandle stream;
  };

  sim::SimDriver driver_;
  Issuers issuers_;
  IssueOrder order_;
  std::vector<std::unique_ptr<Part>> parts_;
};

/// The end of the last transfer once graphs are there.
inline Seconds simulated_end(const Machine& machine, const JointPlan& joint, Issuers issuers) {
  JointRun run(machine, joint, issuers);
  (void)run.run();
  const std::vector<Seconds> ends = run.run();
  return *std::max_element(ends.begin(), ends.end());
}

}  // namespace polypath::test
