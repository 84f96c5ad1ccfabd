#include "driver/trace/traced_driver.h"

#include <optional>

namespace polypath::trace {
namespace {

Work work_of(Kind kind, const CopyRequest& request) {
  return {.kind = kind,
          .label = request.label,
          .source = request.source_place,
          .destination = request.destination_place,
          .bytes = request.bytes};
}

Work work_of(const KernelRequest& request) {
  Bytes bytes;
  for (const KernelMemory& memory : request.memory) bytes += memory.moved.value_or(memory.bytes);
  return {.kind = Kind::kernel,
          .label = request.label,
          .source = request.gpu,
          .destination = request.gpu,
          .bytes = bytes};
}

// Its bytes arrive where the last copy ends: those that go there count.
Work work_of(const std::vector<GraphNode>& nodes) {
  Work work{.kind = Kind::graph, .copies = nodes.size()};
  const auto is_copy = [](const GraphNode& node) { return !node.kernel && !node.flag; };
  for (const GraphNode& node : nodes) {
    if (!is_copy(node)) continue;
    if (!work.source.valid()) work.source = node.copy.source_place;
    work.destination = node.copy.destination_place;
  }
  for (const GraphNode& node : nodes)
    if (is_copy(node) && node.copy.destination_place == work.destination)
      work.bytes += node.copy.bytes;
  if (!work.source.valid() && !nodes.empty() && nodes.front().kernel)
    work.source = work.destination = nodes.front().kernel->gpu;
  return work;
}

}  // namespace

template <class Call>
void TracedDriver::around(const Work& work, StreamHandle stream, Call call) {
  std::optional<Begun> begun = recorder_.begin(stream);
  try {
    call();
  } catch (...) {
    recorder_.drop(begun);
    throw;
  }
  recorder_.end(begun, work, group_);
}

void TracedDriver::copy(const CopyRequest& request, StreamHandle stream) {
  around(work_of(Kind::copy, request), stream, [&] { driver_->copy(request, stream); });
}

// A copy that repeats an earlier one does not say where its memory is.
void TracedDriver::copy_native(const NativeCopy& request, StreamHandle stream) {
  const auto place_of = [&](PlaceId said, Address address) {
    if (said.valid()) return said;
    const auto memory = driver_->find_memory(address);
    return memory ? memory->place : PlaceId{};
  };
  const auto placed = with_places(request, place_of(request.destination_place, request.destination),
                                  place_of(request.source_place, request.source));
  if (!placed.source_place.valid() || !placed.destination_place.valid())
    return driver_->copy_native(request, stream);
  around(work_of(Kind::native, placed), stream, [&] { driver_->copy_native(request, stream); });
}

void TracedDriver::reduce(const CopyRequest& request, const Reduction& reduction,
                          StreamHandle stream) {
  around(work_of(Kind::reduction, request), stream,
         [&] { driver_->reduce(request, reduction, stream); });
}

void TracedDriver::run(const KernelRequest& request, StreamHandle stream) {
  around(work_of(request), stream, [&] { driver_->run(request, stream); });
}

GraphHandle TracedDriver::instantiate(const std::vector<GraphNode>& nodes) {
  const GraphHandle graph = driver_->instantiate(nodes);
  const std::scoped_lock lock(mutex_);
  graphs_[graph] = work_of(nodes);
  return graph;
}

void TracedDriver::launch(GraphHandle graph, StreamHandle stream) {
  Work work;
  {
    const std::scoped_lock lock(mutex_);
    work = graphs_[graph];
  }
  if (!work.source.valid()) return driver_->launch(graph, stream);
  around(work, stream, [&] { driver_->launch(graph, stream); });
}

void TracedDriver::destroy_graph(GraphHandle graph) {
  {
    const std::scoped_lock lock(mutex_);
    graphs_.erase(graph);
  }
  driver_->destroy_graph(graph);
}

StreamHandle TracedDriver::create_stream(PlaceId gpu) {
  const StreamHandle stream = driver_->create_stream(gpu);
  recorder_.streams().add(stream, gpu, true);
  return stream;
}

void TracedDriver::destroy_stream(StreamHandle stream) {
  recorder_.streams().remove(stream);
  driver_->destroy_stream(stream);
}

StreamHandle TracedDriver::foreign_stream(PlaceId gpu, std::uintptr_t stream) {
  const StreamHandle handle = driver_->foreign_stream(gpu, stream);
  recorder_.streams().add(handle, gpu, false);
  return handle;
}

void TracedDriver::destroy_event(EventHandle event) {
  recorder_.streams().forget(event);
  driver_->destroy_event(event);
}

void TracedDriver::record(EventHandle event, StreamHandle stream) {
  driver_->record(event, stream);
  recorder_.streams().recorded(event, stream);
}

void TracedDriver::wait(StreamHandle stream, EventHandle event) {
  driver_->wait(stream, event);
  recorder_.streams().waits(stream, event);
}

}  // namespace polypath::trace
