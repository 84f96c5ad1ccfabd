#pragma once
// A program as calls on streams: the one place that says in which order they are made.

#include <algorithm>

#include "model/program.h"

namespace polypath::model {

/// Makes the calls that put `program` into streams, in order:
///
///   calls.fork()               the caller's stream records an event, if there are other queues
///   calls.start(queue)         the queue waits for the fork
///   calls.wait(queue, node)    the queue waits for an earlier node of another queue
///   calls.run(node)            the node goes into its queue
///   calls.record(node)         its event, because other queues wait for it
///   calls.join(queue)          the queue records its end, and the caller's stream waits for it
///   calls.join_callers()       the caller's stream records the end of everything
///   calls.release(ring, queue) the ring's next use waits for the end of the queue that reads,
///                              or of everything
template <class Calls>
void put_into_streams(const Program& program, Calls& calls);

/// True if all of a program is in the caller's queue.
inline bool is_in_callers_queue(const Program& program) { return program.queues().size() == 1; }

/// True of a ring that is free when everything has ended, because several queues read it, or the
/// caller's does.
inline bool is_freed_last(const Ring& ring) {
  return !ring.kept && (ring.several || ring.reader <= Program::kCallersQueue);
}
/// True of one that is free when a queue has ended.
inline bool is_freed_by(const Ring& ring, int queue) {
  return !ring.kept && !ring.several && ring.reader == queue;
}

namespace stream_calls {

template <class Calls>
void put_node(const Program& program, int number, Calls& calls) {
  const Node& node = program.node(number);
  if (node.starts_queue) calls.start(node.queue);
  for (const int earlier : program.after(node)) calls.wait(node.queue, earlier);
  calls.run(number);
  if (node.awaited) calls.record(number);
}

/// True if the caller's stream has to wait for the queue's end: no other queue waits for it.
inline bool is_sink(const Program& program, int queue) {
  const int last = program.last_of(queue);
  return last >= 0 && !program.node(last).awaited;
}

inline bool is_joined(const Program& program, int queue) {
  const auto& rings = program.rings();
  const bool frees = std::any_of(rings.begin(), rings.end(),
                                 [&](const Ring& ring) { return is_freed_by(ring, queue); });
  return frees || is_sink(program, queue);
}

// Queues that read rings first, each with the rings that it frees.
template <class Calls>
void join_queues(const Program& program, Calls& calls) {
  for (int queue = 1; queue < static_cast<int>(program.queues().size()); ++queue) {
    if (!is_joined(program, queue)) continue;
    calls.join(queue);
    for (const Ring& ring : program.rings())
      if (is_freed_by(ring, queue)) calls.release(ring, queue);
  }
}

}  // namespace stream_calls

/// How many queues the caller's stream waits for at the end.
inline std::size_t joined_queues(const Program& program) {
  std::size_t joined = 0;
  for (int queue = 1; queue < static_cast<int>(program.queues().size()); ++queue)
    joined += stream_calls::is_joined(program, queue) ? 1 : 0;
  return joined;
}

template <class Calls>
void put_into_streams(const Program& program, Calls& calls) {
  if (!is_in_callers_queue(program)) calls.fork();
  for (int number = 0; number < static_cast<int>(program.nodes().size()); ++number)
    stream_calls::put_node(program, number, calls);
  if (is_in_callers_queue(program)) return;
  stream_calls::join_queues(program, calls);
  const auto& rings = program.rings();
  if (std::none_of(rings.begin(), rings.end(), is_freed_last)) return;
  calls.join_callers();
  for (const Ring& ring : rings)
    if (is_freed_last(ring)) calls.release(ring, Program::kCallersQueue);
}

}  // namespace polypath::model
