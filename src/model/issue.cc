#include "model/issue.h"

#include "model/stream_calls.h"

namespace polypath {
namespace {

// Adds up what the calls cost.
class StreamClock {
 public:
  StreamClock(const CallCosts& costs, std::size_t nodes) : costs_(costs) {
    issue_.nodes.reserve(nodes);
  }

  void fork() { record(); }
  void start(int) { wait(); }
  void wait(int, int) { wait(); }
  void run(int) { issue_.nodes.push_back(now_ += costs_.copy); }
  void record(int) { record(); }
  void join(int) { record(), wait(); }
  void join_callers() { record(); }
  void release(const Ring&, int) { wait(); }

  IssueTimes done() && {
    issue_.done = now_;
    return std::move(issue_);
  }

 private:
  void record() { now_ += costs_.event_record; }
  void wait() { now_ += costs_.event_wait; }

  const CallCosts& costs_;
  Seconds now_;
  IssueTimes issue_;
};

IssueTimes issue_streams(const CallCosts& costs, const Program& program) {
  StreamClock clock(costs, program.nodes().size());
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
                                     : issue_streams(machine.costs, program);
}

}  // namespace polypath
