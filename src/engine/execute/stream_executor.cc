#include "engine/execute/stream_executor.h"

#include "engine/execute/binding.h"
#include "engine/execute/stopwatch.h"
#include "model/stream_calls.h"

namespace polypath::engine {
namespace {

// Makes the calls of stream_calls.h on the driver. A wait takes an event as it is now, so that a
// later node may record it again.
class DriverCalls {
 public:
  DriverCalls(Driver& driver, const Binding& bound, EventHandle forked, EventList& in_callers)
      : driver_(driver),
        bound_(bound),
        forked_(forked),
        in_callers_(in_callers),
        watch_(bound.transfer().stopwatch) {}

  void fork() { driver_.record(forked_, bound_.transfer().stream); }
  void start(int queue) {
    driver_.wait(bound_.stream(queue), forked_);
    if (watch_ != nullptr && watch_->times(queue))
      watch_->start_queue(queue, bound_.stream(queue), bound_.queue(queue).gpu);
  }
  // A queue of second hops need not wait for the fork, but its clock begins with that.
  void wait(int queue, int earlier) {
    if (watch_ != nullptr && watch_->times(queue) && !watch_->has_started(queue)) start(queue);
    driver_.wait(bound_.stream(queue), event_of(earlier));
  }
  void run(int number) {
    const Node& node = bound_.program().node(number);
    const StreamHandle stream = bound_.stream(node.queue);
    put(node, stream);
    if (watch_ != nullptr) watch_->passed(number, stream);
  }
  void record(int number) {
    driver_.record(event_of(number), bound_.stream(bound_.program().node(number).queue));
  }
  void join(int queue) {
    ended_ = bound_.queue(queue).end.on(bound_.queue(queue).gpu);
    driver_.record(ended_, bound_.stream(queue));
    driver_.wait(bound_.transfer().stream, ended_);
  }
  void join_callers() {
    StagingRing& ring = bound_.ring(0);
    ended_ = ring.last_use.on(bound_.transfer().stream_gpu);
    driver_.record(ended_, bound_.transfer().stream);
  }
  // The end that was recorded last is that of the queue.
  void release(const Ring& ring, int) {
    driver_.wait(bound_.stream(ring.filler), ended_);
    bound_.ring(ring).last = ended_;
  }

 private:
  void put(const Node& node, StreamHandle stream) {
    switch (node.operation) {
      case Operation::copy: return driver_.copy(bound_.request_of(node), stream);
      case Operation::reduce:
        return driver_.reduce(bound_.request_of(node), node.reduction, stream);
      case Operation::kernel: return driver_.run(bound_.kernel_of(node), stream);
      case Operation::signal:
      case Operation::await: return put_flag(bound_.flag_of(node), stream);
    }
  }
  void put_flag(const FlagRequest& flag, StreamHandle stream) {
    if (!flag.waits) return driver_.write_value(stream, flag.address, flag.place, flag.value);
    driver_.await_flag(flag, stream);
  }

  [[nodiscard]] EventHandle event_of(int number) const {
    const Node& node = bound_.program().node(number);
    const bool in_callers = node.queue == Program::kCallersQueue;
    return (in_callers ? in_callers_ : bound_.queue(node.queue).events).at(node.event);
  }

  Driver& driver_;
  const Binding& bound_;
  EventHandle forked_;
  EventList& in_callers_;
  Stopwatch* watch_;  ///< null: the paths are not timed
  EventHandle ended_;
};

}  // namespace

EventList& StreamExecutor::in_callers_streams(PlaceId gpu) {
  return in_callers_.try_emplace(gpu, driver_, gpu).first->second;
}

void StreamExecutor::prepare(const Transfer& transfer) {
  (void)forked_.on(transfer.stream_gpu);
  const Program& program = *transfer.program;
  EventList& in_callers = in_callers_streams(transfer.stream_gpu);
  if (const int events = program.events_of(Program::kCallersQueue); events > 0)
    (void)in_callers.at(events - 1);
  for (int number = 1; number < static_cast<int>(program.queues().size()); ++number) {
    QueueStream& queue = hops_.stream(program.queues()[static_cast<std::size_t>(number)]);
    if (const int events = program.events_of(number); events > 0) (void)queue.events.at(events - 1);
    (void)queue.end.on(queue.gpu);
  }
  for (const Ring& ring : program.rings())
    (void)hops_.ring(program, ring).last_use.on(transfer.stream_gpu);
}

void StreamExecutor::run(const Transfer& transfer) {
  const Binding bound(hops_, transfer);
  DriverCalls calls(driver_, bound, forked_.on(transfer.stream_gpu),
                    in_callers_streams(transfer.stream_gpu));
  put_into_streams(*transfer.program, calls);
}

}  // namespace polypath::engine
