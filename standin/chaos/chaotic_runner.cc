#include "standin/chaos/chaotic_runner.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "kernels/await_flag.h"
#include "kernels/mail.h"
#include "kernels/reduce.h"
#include "standin/chaos/graph_run.h"
#include "standin/chaos/mail_kernel.h"
#include "standin/chaos/message_kernel.h"
#include "standin/chaos/reduce_kernel.h"
#include "standin/chaos/values.h"
#include "standin/failure.h"
#include "standin/state/copy_parts.h"
#include "standin/state/pass_kernel.h"

namespace polypath::standin::chaos {
namespace {

bool overlap(const MemoryCopy& copy) {
  return copy.source + copy.bytes > copy.destination && copy.destination + copy.bytes > copy.source;
}

// Parts that lie in one mapping at both ends.
std::vector<MemoryCopy> parts_of(const sim::Memory& memory, const MemoryCopy& copy) {
  const auto left_in = [&](Address address, Bytes bytes) {
    const sim::BlockPointer block = memory.find(address);
    if (!block || !block->may_go_on()) return bytes;
    const MemoryInfo info = block->info();
    return std::min(bytes, Bytes{info.base.value + info.size.value - address.value});
  };
  return parts_in_mappings(copy, left_in);
}

// As seen on H200, driver 580: records, waits within a context and functions never found a queue
// full, a graph of copies took two slots. Work that was not measured takes one.
int slots_of(WorkKind kind) {
  switch (kind) {
    case WorkKind::record:
    case WorkKind::wait:
    case WorkKind::function: return 0;
    case WorkKind::graph: return 2;
    default: return 1;
  }
}

// The words of kernels/await_flag.h, then the address.
std::vector<ValueStep> flag_steps_of(const KernelWork& kernel) {
  const Address flag{static_cast<std::uintptr_t>(kernel.words.at(2))};
  const MemoryValue awaited{.address = flag,
                            .value = kernel.words.at(0),
                            .bytes = Bytes{sizeof(std::uint32_t)},
                            .comparison = Comparison::equal};
  MemoryValue written = awaited;
  written.value = kernel.words.at(1);
  return {{awaited, true}, {written, false}};
}

EntryPointer make_entry(WorkKind kind) {
  auto entry = std::make_shared<Entry>();
  entry->slots = slots_of(kind);
  entry->is_copy = kind == WorkKind::copy;
  entry->is_record = kind == WorkKind::record;
  entry->is_wait_elsewhere = kind == WorkKind::wait_elsewhere;
  return entry;
}

}  // namespace

ChaoticRunner::ChaoticRunner(const Machine& machine, const StandInSettings& settings)
    : machine_(machine),
      statistics_(settings.statistics),
      scheduler_(*settings.chaos, {settings.queue_depth, settings.queues}) {}

// Work that still uses the memory keeps its bytes, so that only the program's order goes wrong.
void ChaoticRunner::free(Address base) {
  const sim::BlockPointer block = memory_.remove(base);
  if (block.use_count() == 1) return;
  violations_.push_back(fmt::format("use after free: {} at {} freed while queued work uses it",
                                    describe_bytes(block->info().size),
                                    machine_.place(block->info().place).name));
}

StreamHandle ChaoticRunner::create_stream(PlaceId gpu, ContextPointer context, bool by_default) {
  const StreamHandle stream{next_handle_++};
  queues_[stream] = scheduler_.create_queue(gpu, context, by_default);
  return stream;
}

void ChaoticRunner::destroy_stream(StreamHandle stream) {
  scheduler_.close(queues_.at(stream));
  queues_.erase(stream);
}

EventHandle ChaoticRunner::create_event(PlaceId) {
  const EventHandle event{next_handle_++};
  events_[event] = nullptr;
  return event;
}

// As seen on H200, driver 580: while a thread is in a call that gives memory back and waits, others
// put nothing into the context's streams.
Waiting ChaoticRunner::room_in(StreamHandle stream, WorkKind kind) {
  const QueuePointer queue = queues_.at(stream);
  if (Waiting waiting = wait_for(freeing_[queue->context])) return waiting;
  const int slots = slots_of(kind);
  if (scheduler_.has_room(*queue, slots)) return {};
  return [this, queue, slots] { scheduler_.wait_for_room(queue, slots); };
}

void ChaoticRunner::record(EventHandle event, StreamHandle stream) {
  const auto entry = make_entry(WorkKind::record);
  scheduler_.enqueue(queue(stream), entry);
  events_.at(event) = entry;
}

void ChaoticRunner::wait(StreamHandle stream, EventHandle event, WorkKind kind) {
  const auto entry = make_entry(kind);
  if (const EntryPointer& awaited = events_.at(event)) entry->after.push_back(awaited);
  scheduler_.enqueue(queue(stream), entry);
}

void ChaoticRunner::join(StreamHandle later, StreamHandle earlier) {
  scheduler_.join(queue(later), queue(earlier));
}

ChaoticRunner::End ChaoticRunner::end_of(Address begin, Bytes bytes, const char* what) const {
  const sim::BlockPointer block = memory_.find(begin);
  if (!block) return {{reinterpret_cast<std::byte*>(begin.value), nullptr}, {}};
  const PlaceId place = block->info().place;
  (void)memory_.check(begin, bytes, place, what);
  return {{block->bytes_at(begin), block}, place};
}

std::unique_ptr<CopyJob> ChaoticRunner::make_copy(const MemoryCopy& copy, bool staged,
                                                  Entry& entry) {
  if (overlap(copy)) refuse(kInvalidValue, "the source and the destination of a copy overlap");
  const End to = end_of(copy.destination, copy.bytes, "destination");
  const End from = end_of(copy.source, copy.bytes, "source");
  if (copy.staged) entry.through_host = std::minmax(to.where, from.where);
  std::function<void()> when_done;
  if (statistics_ && to.where.valid() && from.where.valid())
    when_done = [this, way = way_between(machine_, from.where, to.where), bytes = copy.bytes] {
      count(way, bytes);
    };
  return std::make_unique<CopyJob>(to.place, from.place, copy.bytes, staged, std::move(when_done));
}

void ChaoticRunner::count(const std::string& way, Bytes bytes) {
  const std::scoped_lock lock(moved_mutex_);
  ++moved_[way].copies;
  moved_[way].bytes += bytes.value;
}

Waiting ChaoticRunner::enqueue(const EntryPointer& entry, Returns returns, StreamHandle stream) {
  scheduler_.enqueue(queue(stream), entry);
  if (returns == Returns::complete) return wait_for({entry});
  if (returns == Returns::source_read) return [this, entry] { scheduler_.wait_for_source(entry); };
  return {};
}

Waiting ChaoticRunner::copy(const MemoryCopy& copy, Returns returns, StreamHandle stream) {
  const auto entry = make_entry(WorkKind::copy);
  auto job = make_copy(copy, returns == Returns::source_read, *entry);
  if (returns == Returns::at_once && !memory_.find(copy.source)) job->stage();
  entry->job = std::move(job);
  return enqueue(entry, returns, stream);
}

Waiting ChaoticRunner::fill(Address destination, Bytes bytes, const std::vector<std::byte>& pattern,
                            Returns returns, StreamHandle stream) {
  const auto entry = make_entry(WorkKind::fill);
  const End to = end_of(destination, bytes, "destination");
  entry->job = std::make_unique<FillJob>(to.place, bytes, pattern);
  return enqueue(entry, returns, stream);
}

void ChaoticRunner::call(std::function<void()> function, StreamHandle stream) {
  scheduler_.enqueue_function(queues_.at(stream), std::move(function));
}

void ChaoticRunner::wait_for_value(const MemoryValue& value, StreamHandle stream) {
  const auto entry = make_entry(WorkKind::value);
  const End end = end_of(value.address, value.bytes, "value");
  entry->job = std::make_unique<WaitForValue>(end.place, value);
  entry->is_hold = true;
  scheduler_.enqueue(queue(stream), entry);
}

void ChaoticRunner::write_value(const MemoryValue& value, StreamHandle stream) {
  const auto entry = make_entry(WorkKind::value);
  const End end = end_of(value.address, value.bytes, "value");
  entry->job = std::make_unique<WriteValue>(end.place, value);
  scheduler_.enqueue(queue(stream), entry);
}

std::unique_ptr<Job> ChaoticRunner::make_steps(const std::vector<ValueStep>& values) const {
  std::vector<std::unique_ptr<Job>> jobs;
  for (const ValueStep& step : values) {
    const End end = end_of(step.value.address, step.value.bytes, "value");
    if (step.waits) jobs.push_back(std::make_unique<WaitForValue>(end.place, step.value));
    else jobs.push_back(std::make_unique<WriteValue>(end.place, step.value));
  }
  return std::make_unique<Steps>(std::move(jobs));
}

bool ChaoticRunner::knows_kernel(const std::string& name) const {
  return name == messages_kernel().name || name == reduce_kernel().name || name == kPassKernel ||
         name == await_flag_kernel().name || mail_kind_of(name).has_value();
}

std::unique_ptr<Job> ChaoticRunner::make_kernel(const KernelWork& kernel) const {
  const auto places = [&](const std::vector<std::uint64_t>& addresses) {
    std::vector<Place> memory;
    for (const std::uint64_t address : addresses)
      memory.push_back(address == 0 ? Place{} : end_of({address}, Bytes{1}, "memory").place);
    return memory;
  };
  if (kernel.name == kPassKernel)
    return std::make_unique<PassKernel>(kernel, places(PassKernel::memory_of(kernel)));
  if (kernel.name == await_flag_kernel().name) return make_steps(flag_steps_of(kernel));
  if (ReduceKernel::is_one(kernel))
    return std::make_unique<ReduceKernel>(kernel, places(ReduceKernel::memory_of(kernel)));
  if (mail_kind_of(kernel.name))
    return std::make_unique<MailKernel>(kernel, places(addresses_of_mail(kernel)));
  return std::make_unique<MessageKernel>(kernel, places(HostMessages::memory_of(kernel.words)));
}

void ChaoticRunner::run(const KernelWork& kernel, StreamHandle stream) {
  const auto entry = make_entry(WorkKind::kernel);
  entry->job = make_kernel(kernel);
  entry->is_hold = true;
  scheduler_.enqueue(queue(stream), entry);
}

GraphHandle ChaoticRunner::instantiate(const std::vector<CopyNode>& nodes) {
  for (const CopyNode& node : nodes)
    if (node.is_copy() && (!memory_.find(node.destination) || !memory_.find(node.source)))
      refuse(kInvalidValue, "a node copies memory that the driver does not know");
  const GraphHandle graph{next_handle_++};
  graphs_[graph].nodes = nodes;
  return graph;
}

void ChaoticRunner::update_node(GraphHandle graph, int node, const CopyNode& changed) {
  CopyNode& updated = graphs_.at(graph).nodes[static_cast<std::size_t>(node)];
  updated.destination = changed.destination;
  updated.source = changed.source;
  updated.kernel = changed.kernel;
}

std::unique_ptr<Job> ChaoticRunner::make_job(const CopyNode& node, Entry& entry) {
  if (!node.values.empty()) return make_steps(node.values);
  if (node.kernel) return make_kernel(*node.kernel);
  std::vector<std::unique_ptr<Job>> parts;
  for (const MemoryCopy& part : parts_of(memory_, {node.destination, node.source, node.bytes}))
    parts.push_back(make_copy(part, false, entry));
  return std::make_unique<Steps>(std::move(parts));
}

// Addresses mean the memory that is there at the launch, not the memory that was there before.
void ChaoticRunner::launch(GraphHandle handle, StreamHandle stream) {
  Graph& graph = graphs_.at(handle);
  const auto entry = make_entry(WorkKind::graph);
  std::vector<GraphRun::Node> nodes;
  for (const CopyNode& node : graph.nodes) {
    nodes.push_back({make_job(node, *entry), node.after});
    entry->is_hold = entry->is_hold || !node.is_copy();
  }
  entry->job = std::make_unique<GraphRun>(std::move(nodes));
  if (graph.launched) entry->after.push_back(graph.launched);
  graph.launched = entry;
  scheduler_.enqueue(queue(stream), entry);
}

std::vector<std::string> ChaoticRunner::violations() const { return violations_; }

std::map<std::string, Moved> ChaoticRunner::moved() const {
  const std::scoped_lock lock(moved_mutex_);
  return moved_;
}

}  // namespace polypath::standin::chaos
