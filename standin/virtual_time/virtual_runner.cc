#include "standin/virtual_time/virtual_runner.h"

#include <algorithm>

#include "standin/failure.h"

namespace polypath::standin {
namespace {

// Questions in vain: the first costs what one costs, each further one a tenth more.
constexpr Seconds kFirstWait = 0.25_us;
constexpr double kGrowth = 1.1;

sim::Options options_with(bool statistics) {
  sim::Options options;
  options.record_trace = statistics;
  return options;
}

// Memory that the driver does not know, as pageable memory for the time of one copy.
class Pageable {
 public:
  Pageable(sim::SimDriver& driver, Address begin, Bytes bytes) : driver_(driver), begin_(begin) {
    if (driver.find_memory(begin)) return;
    driver_.add_pageable(begin, bytes);
    declared_ = true;
  }
  Pageable(const Pageable&) = delete;
  Pageable& operator=(const Pageable&) = delete;
  ~Pageable() {
    if (declared_) driver_.remove_pageable(begin_);
  }

 private:
  sim::SimDriver& driver_;
  Address begin_;
  bool declared_ = false;
};

}  // namespace

VirtualRunner::VirtualRunner(const Machine& machine, bool statistics)
    : driver_(machine, options_with(statistics)) {}

StreamHandle VirtualRunner::create_stream(PlaceId gpu, ContextPointer, bool) {
  const StreamHandle stream = driver_.create_stream(gpu);
  marks_[stream] = driver_.create_event(gpu);
  return stream;
}

void VirtualRunner::destroy_stream(StreamHandle stream) {
  driver_.destroy_event(marks_.at(stream));
  driver_.destroy_stream(stream);
  marks_.erase(stream);
}

EventHandle VirtualRunner::create_event(PlaceId gpu) {
  const EventHandle event = driver_.create_event(gpu);
  gpus_[event] = gpu;
  return event;
}

void VirtualRunner::destroy_event(EventHandle event) {
  driver_.destroy_event(event);
  gpus_.erase(event);
}

Waiting VirtualRunner::room_in(StreamHandle stream, WorkKind) { return finish_functions(stream); }

Waiting VirtualRunner::finish_functions(StreamHandle stream) {
  if (!functions_.is_pending(stream)) return {};
  return [this, stream] { functions_.finish(stream); };
}

void VirtualRunner::join(StreamHandle later, StreamHandle earlier) {
  if (Waiting waiting = finish_functions(earlier)) throw Blocked{std::move(waiting)};
  const EventHandle mark = marks_.at(earlier);
  driver_.record(mark, earlier);
  driver_.wait(later, mark);
}

Waiting VirtualRunner::copy(const MemoryCopy& copy, Returns returns, StreamHandle stream) {
  const Pageable to(driver_, copy.destination, copy.bytes);
  const Pageable from(driver_, copy.source, copy.bytes);
  driver_.copy_native({.destination = copy.destination, .source = copy.source, .bytes = copy.bytes},
                      stream);
  finish_if(returns, stream);
  return {};
}

Waiting VirtualRunner::fill(Address destination, Bytes bytes, const std::vector<std::byte>& pattern,
                            Returns returns, StreamHandle stream) {
  driver_.fill(destination, bytes, pattern, stream);
  finish_if(returns, stream);
  return {};
}

void VirtualRunner::finish_if(Returns returns, StreamHandle stream) {
  if (returns != Returns::at_once) driver_.synchronize(stream);
}

// The stream's work is finished at once: virtual time does not pass by itself, and a thread that
// waits for the function need not call again.
void VirtualRunner::call(std::function<void()> function, StreamHandle stream) {
  driver_.synchronize(stream);
  functions_.start(stream, std::move(function));
}

// No call would let virtual time pass until the value is written.
void VirtualRunner::refuse_values() {
  refuse(kNotSupported, "streams wait for values in chaos mode only (STANDIN_CHAOS)");
}

GraphNode VirtualRunner::request(const CopyNode& node) {
  const auto to = driver_.find_memory(node.destination), from = driver_.find_memory(node.source);
  if (!to || !from) refuse(kInvalidValue, "a node copies memory that the driver does not know");
  return {{node.destination, to->place, node.source, from->place, node.bytes, {}}, node.after};
}

GraphHandle VirtualRunner::instantiate(const std::vector<CopyNode>& nodes) {
  std::vector<GraphNode> requests;
  for (const CopyNode& node : nodes) {
    if (!node.values.empty()) refuse_values();
    requests.push_back(request(node));
  }
  return driver_.instantiate(requests);
}

void VirtualRunner::update_node(GraphHandle graph, int node, const CopyNode& copy) {
  driver_.update_node(graph, node, copy.destination, copy.source);
}

// Each query in vain lets more virtual time pass than the one before, so that even the largest copy
// is over after about a hundred queries.
bool VirtualRunner::answer(bool done) {
  patience_ = done ? Seconds{} : std::max(patience_ * kGrowth, kFirstWait);
  driver_.pass_time(patience_);
  return done;
}

bool VirtualRunner::is_done(const std::vector<StreamHandle>& streams) {
  bool done = true;
  for (const StreamHandle stream : streams) {
    const EventHandle mark = marks_.at(stream);
    driver_.record(mark, stream);
    done = driver_.is_done(mark) && !functions_.is_pending(stream) && done;
  }
  return answer(done);
}

bool VirtualRunner::is_done(EventHandle event) { return answer(driver_.is_done(event)); }

// While a stream's functions run there is nothing behind them: calls that would put it there wait.
Waiting VirtualRunner::finish(const std::vector<StreamHandle>& streams) {
  std::vector<StreamHandle> pending;
  for (const StreamHandle stream : streams) {
    driver_.synchronize(stream);
    if (functions_.is_pending(stream)) pending.push_back(stream);
  }
  if (pending.empty()) return {};
  return [this, pending] {
    for (const StreamHandle stream : pending) functions_.finish(stream);
  };
}

// The simulated driver waits for streams only: one more that waits for the event.
Waiting VirtualRunner::finish(EventHandle event) {
  const StreamHandle waiting = driver_.create_stream(gpus_.at(event));
  driver_.wait(waiting, event);
  driver_.synchronize(waiting);
  driver_.destroy_stream(waiting);
  return {};
}

std::map<std::string, Moved> VirtualRunner::moved() const {
  const Machine& machine = driver_.machine();
  std::map<std::string, Moved> ways;
  for (const sim::Span& span : driver_.finished_copies()) {
    const Hop* hop = span.hop.valid() ? &machine.hop(span.hop) : nullptr;
    Moved& moved = ways[hop == nullptr ? "within one place"
                                       : way_between(machine, hop->source, hop->destination)];
    ++moved.copies;
    moved.bytes += span.bytes.value;
  }
  return ways;
}

}  // namespace polypath::standin
