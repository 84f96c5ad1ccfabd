#include "engine/stream_executor.h"

#include "engine/binding.h"
#include "model/stream_calls.h"

namespace polypath {
namespace {

// Makes the calls of stream_calls.h on the driver. A wait takes an event as it is now, so that a
// later node may record it again.
class DriverCalls {
 public:
  DriverCalls(Driver& driver, const Binding& bound, EventHandle forked)
      : driver_(driver), bound_(bound), forked_(forked) {}

  void fork() { driver_.record(forked_, bound_.transfer().stream); }
  void start(int queue) { driver_.wait(bound_.stream(queue), forked_); }
  void wait(int queue, int earlier) { driver_.wait(bound_.stream(queue), event_of(earlier)); }
  void run(int number) {
    const Node& node = bound_.program().node(number);
    const StreamHandle stream = bound_.stream(node.queue);
    switch (node.operation) {
      case Operation::copy: return driver_.copy(bound_.request_of(node), stream);
      case Operation::reduce:
        return driver_.reduce(bound_.request_of(node), node.reduction, stream);
      case Operation::kernel: return driver_.run(bound_.kernel_of(node), stream);
    }
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
  [[nodiscard]] EventHandle event_of(int number) const {
    const Node& node = bound_.program().node(number);
    return bound_.queue(node.queue).events.at(node.event);
  }

  Driver& driver_;
  const Binding& bound_;
  EventHandle forked_;
  EventHandle ended_;
};

}  // namespace

void StreamExecutor::prepare(const Transfer& transfer) {
  (void)forked_.on(transfer.stream_gpu);
  const Program& program = *transfer.program;
  for (int number = 1; number < static_cast<int>(program.queues().size()); ++number) {
    QueueStream& queue = hops_.stream(program.queues()[static_cast<std::size_t>(number)]);
    if (const int events = program.events_of(number); events > 0) (void)queue.events.at(events - 1);
    (void)queue.end.on(queue.gpu);
  }
  for (const Ring& ring : program.rings())
    (void)hops_.ring(ring.filled_over).last_use.on(transfer.stream_gpu);
}

void StreamExecutor::run(const Transfer& transfer) {
  const Binding bound(hops_, transfer);
  DriverCalls calls(driver_, bound, forked_.on(transfer.stream_gpu));
  put_into_streams(*transfer.program, calls);
}

}  // namespace polypath
