#include "model/issue.h"

#include "model/stream_calls.h"

namespace polypath {
namespace {

// Adds up what the calls cost.
class StreamClock {
 public:
  StreamClock(const Machine& machine, const Program& program)
      : costs_(machine.costs), driver_(machine.driver), program_(program) {
    issue_.nodes.reserve(program.nodes().size());
  }

  void fork() { record(); }
  void start(int) { wait(); }
  void wait(int, int) { wait(); }
  void run(int node) { issue_.nodes.push_back(now_ += cost_of(program_.node(node).operation)); }
  void record(int) { record(); }
  void join(int) { record(), wait(); }
  void join_callers() { record(); }
  void release(const Ring&, int) { wait(); }

  IssueTimes done() && {
    issue_.done = now_;
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
  void record() { now_ += costs_.event_record; }
  void wait() { now_ += costs_.event_wait; }

  const CallCosts& costs_;
  const DriverBehaviour& driver_;
  const Program& program_;
  Seconds now_;
  IssueTimes issue_;
};

IssueTimes issue_streams(const Machine& machine, const Program& program) {
  StreamClock clock(machine, program);
  put_into_streams(program, clock);
  return std::move(clock).done();
}

IssueTimes issue_graph(const CallCosts& costs, const Program& program) {
  IssueTimes issue;
  const auto rings = static_cast<double>(program.rings().size());
  Seconds now = costs.event_wait * rings + costs.graph_launch;
  for (std::size_t i = 0; i < program.nodes().size(); ++i)
    issue.nodes.push_back(now += costs.graph_launch_node);
  issue.done = now + (costs.event_record + costs.event_wait) * rings;
  return issue;
}

}  // namespace

IssueTimes issue_times(const Machine& machine, const Program& program, Executor executor) {
  return executor == Executor::graph ? issue_graph(machine.costs, program)
                                     : issue_streams(machine, program);
}

}  // namespace polypath
