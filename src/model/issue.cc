#include "model/issue.h"

#include <algorithm>

#include "model/stream_calls.h"

namespace polypath::model {
namespace {

// The clock of each node's thread.
class Clocks {
 public:
  explicit Clocks(const Machine& machine)
      : machine_(machine), now_(static_cast<std::size_t>(machine.nodes())) {}

  /// Of the node that a GPU is in; of the caller's for none.
  Seconds& at(PlaceId gpu) {
    return gpu.valid() ? now_[static_cast<std::size_t>(machine_.place(gpu).node)] : now_.front();
  }
  void all(Seconds cost) {
    for (Seconds& clock : now_) clock += cost;
  }
  [[nodiscard]] Seconds latest() const { return *std::max_element(now_.begin(), now_.end()); }

 private:
  const Machine& machine_;
  std::vector<Seconds> now_;
};

// Adds up what the calls cost.
class StreamClock {
 public:
  StreamClock(const Machine& machine, const Program& program)
      : costs_(machine.costs), driver_(machine.driver), program_(program), now_(machine) {
    issue_.nodes.reserve(program.nodes().size());
  }

  void fork() { record_in(Program::kCallersQueue); }
  void start(int queue) { wait_in(queue); }
  void wait(int queue, int) { wait_in(queue); }
  void run(int number) {
    const Node& node = program_.node(number);
    issue_.nodes.push_back(clock(node.queue) += cost_of(node.operation));
  }
  void record(int node) { record_in(program_.node(node).queue); }
  void join(int queue) { record_in(queue), wait_in(Program::kCallersQueue); }
  void join_callers() { record_in(Program::kCallersQueue); }
  void release(const Ring& ring, int) { wait_in(ring.filler); }

  IssueTimes done() && {
    issue_.done = now_.latest();
    return std::move(issue_);
  }

 private:
  // A flag that was awaited is cleared by a second call.
  [[nodiscard]] Seconds cost_of(Operation operation) const {
    switch (operation) {
      case Operation::kernel: return driver_.kernel_launch;
      case Operation::signal: return driver_.flag_call;
      case Operation::await: return driver_.flag_call * 2;
      case Operation::copy:
      case Operation::reduce: break;
    }
    return costs_.copy;
  }
  Seconds& clock(int queue) {
    return now_.at(program_.queues()[static_cast<std::size_t>(queue)].gpu);
  }
  void record_in(int queue) { clock(queue) += costs_.event_record; }
  void wait_in(int queue) { clock(queue) += costs_.event_wait; }

  const CallCosts& costs_;
  const DriverBehaviour& driver_;
  const Program& program_;
  Clocks now_;
  IssueTimes issue_;
};

IssueTimes issue_streams(const Machine& machine, const Program& program) {
  StreamClock clock(machine, program);
  put_into_streams(program, clock);
  return std::move(clock).done();
}

IssueTimes issue_graph(const Machine& machine, const Program& program) {
  const CallCosts& costs = machine.costs;
  IssueTimes issue;
  Clocks now(machine);
  const auto rings = static_cast<double>(std::ranges::count(program.rings(), false, &Ring::kept));
  now.at({}) += costs.event_wait * rings;
  now.all(costs.graph_launch);
  for (const Node& node : program.nodes())
    issue.nodes.push_back(now.at(working_gpu(machine, program, node)) += costs.graph_launch_node);
  issue.done = now.latest() + (costs.event_record + costs.event_wait) * rings;
  return issue;
}

}  // namespace

IssueTimes issue_times(const Machine& machine, const Program& program, Executor executor) {
  return executor == Executor::graph ? issue_graph(machine, program)
                                     : issue_streams(machine, program);
}

}  // namespace polypath::model
