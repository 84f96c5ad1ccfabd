#include "driver/sim/sim_driver.h"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "core/error.h"
#include "core/process_identity.h"

namespace polypath::sim {

SimDriver::SimDriver(Machine machine, Options options) : simulation_(std::move(machine), options) {}

SimDriver::~SimDriver() { simulation_.fluid.drain(); }

std::string SimDriver::simulation() const {
  const auto process = this_process().value_or(ProcessIdentity{.number = getpid()});
  return fmt::format("{}:{}:{}:{}", process.number_space, process.number, process.start,
                     fmt::ptr(this));
}

Seconds SimDriver::now() {
  const std::scoped_lock lock(mutex_);
  return simulation_.clocks.latest();
}

Address SimDriver::allocate(PlaceId place, Bytes bytes) {
  const std::scoped_lock lock(mutex_);
  return memory_.allocate(place, bytes);
}

// The host's new pages are zeros, and take nothing until they are used.
Address SimDriver::allocate_zeros(PlaceId place, Bytes bytes) { return allocate(place, bytes); }

Address SimDriver::adopt(PlaceId place, Bytes bytes, std::unique_ptr<Backing> backing) {
  const std::scoped_lock lock(mutex_);
  return memory_.adopt(place, bytes, std::move(backing));
}

void SimDriver::free(Address address) {
  const std::scoped_lock lock(mutex_);
  memory_.free(address);
}

std::optional<MemoryInfo> SimDriver::find_memory(Address address) {
  const std::scoped_lock lock(mutex_);
  return memory_.find_memory(address);
}

std::uint64_t SimDriver::memory_id(Address address) {
  const std::scoped_lock lock(mutex_);
  const BlockPointer block = memory_.block_at(address);
  return block ? block->id() : 0;
}

void SimDriver::add_pageable(Address address, Bytes bytes) {
  const std::scoped_lock lock(mutex_);
  memory_.add_pageable(address, bytes);
}

void SimDriver::remove_pageable(Address address) {
  const std::scoped_lock lock(mutex_);
  memory_.remove_pageable(address);
}

ExportedMemory SimDriver::export_memory(Address address) {
  const std::scoped_lock lock(mutex_);
  return sharing_.export_memory(address);
}

Address SimDriver::import_memory(const ExportedMemory& memory, PlaceId gpu) {
  const std::scoped_lock lock(mutex_);
  return sharing_.import_memory(memory, gpu);
}

void SimDriver::release_import(Address address) {
  const std::scoped_lock lock(mutex_);
  sharing_.release_import(address);
}

StreamHandle SimDriver::create_stream(PlaceId gpu) {
  const std::scoped_lock lock(mutex_);
  return streams_.create(gpu);
}

void SimDriver::destroy_stream(StreamHandle stream) {
  const std::scoped_lock lock(mutex_);
  streams_.destroy(stream);
}

StreamHandle SimDriver::foreign_stream(PlaceId, std::uintptr_t stream) {
  fail(ErrorCode::unsupported, fmt::format("stream 0x{:x} cannot be used", stream),
       "a simulated machine has no streams but its own", "Create one with it.");
}

bool SimDriver::is_capturing(StreamHandle stream) {
  const std::scoped_lock lock(mutex_);
  (void)streams_.at(stream);
  return false;  // nothing here can be captured
}

void SimDriver::synchronize(StreamHandle stream) {
  const std::scoped_lock lock(mutex_);
  streams_.synchronize(stream);
}

EventHandle SimDriver::create_event(PlaceId gpu) {
  const std::scoped_lock lock(mutex_);
  return events_.create(gpu);
}

void SimDriver::destroy_event(EventHandle event) {
  const std::scoped_lock lock(mutex_);
  events_.destroy(event);
}

void SimDriver::record(EventHandle event, StreamHandle stream) {
  const std::scoped_lock lock(mutex_);
  events_.record(event, stream);
}

void SimDriver::wait(StreamHandle stream, EventHandle event) {
  const std::scoped_lock lock(mutex_);
  events_.wait(stream, event);
}

bool SimDriver::is_done(EventHandle event) {
  const std::scoped_lock lock(mutex_);
  return events_.is_done(event);
}

std::optional<Seconds> SimDriver::elapsed(EventHandle begin, EventHandle end) {
  const std::scoped_lock lock(mutex_);
  return events_.elapsed(begin, end);
}

void SimDriver::synchronize(EventHandle event) {
  const std::scoped_lock lock(mutex_);
  events_.synchronize(event);
}

std::optional<Seconds> SimDriver::finished_at(EventHandle event) {
  const std::scoped_lock lock(mutex_);
  return events_.finished_at(event);
}

void SimDriver::copy(const CopyRequest& request, StreamHandle stream) {
  const std::scoped_lock lock(mutex_);
  copies_.copy(request, stream);
}

void SimDriver::copy_native(const NativeCopy& request, StreamHandle stream) {
  const std::scoped_lock lock(mutex_);
  copies_.copy_native(request, stream);
}

void SimDriver::reduce(const CopyRequest& request, const Reduction& reduction,
                       StreamHandle stream) {
  const std::scoped_lock lock(mutex_);
  copies_.reduce(request, reduction, stream);
}

void SimDriver::fill(Address destination, Bytes bytes, const std::vector<std::byte>& pattern,
                     StreamHandle stream) {
  const std::scoped_lock lock(mutex_);
  copies_.fill(destination, bytes, pattern, stream);
}

KernelHandle SimDriver::load_kernel(PlaceId gpu, const Kernel& kernel) {
  const std::scoped_lock lock(mutex_);
  return kernels_.load(gpu, kernel);
}

void SimDriver::unload_kernel(KernelHandle kernel) {
  const std::scoped_lock lock(mutex_);
  kernels_.unload(kernel);
}

bool SimDriver::kernels_reach(PlaceId gpu, Address address) {
  const std::scoped_lock lock(mutex_);
  return kernels_.reach(gpu, address);
}

void SimDriver::run(const KernelRequest& request, StreamHandle stream) {
  const std::scoped_lock lock(mutex_);
  runs_.run(request, stream);
}

void SimDriver::write_value(StreamHandle stream, Address address, PlaceId place,
                            std::uint32_t value) {
  const std::scoped_lock lock(mutex_);
  flags_.write_value(stream, address, place, value);
}

void SimDriver::wait_value(StreamHandle stream, Address address, PlaceId place,
                           std::uint32_t value) {
  const std::scoped_lock lock(mutex_);
  flags_.wait_value(stream, address, place, value);
}

void SimDriver::signal(Address address, PlaceId place, std::uint32_t value) {
  const std::scoped_lock lock(mutex_);
  flags_.signal(address, place, value);
}

GraphHandle SimDriver::instantiate(const std::vector<GraphNode>& nodes) {
  const std::scoped_lock lock(mutex_);
  return graphs_.instantiate(nodes);
}

void SimDriver::update_node(GraphHandle graph, int node, Address destination, Address source) {
  const std::scoped_lock lock(mutex_);
  graphs_.update_node(graph, node, destination, source);
}

void SimDriver::update_kernel(GraphHandle graph, int node, const std::vector<Address>& memory) {
  const std::scoped_lock lock(mutex_);
  graphs_.update_kernel(graph, node, memory);
}

void SimDriver::launch(GraphHandle graph, StreamHandle stream) {
  const std::scoped_lock lock(mutex_);
  graphs_.launch(graph, stream);
}

void SimDriver::destroy_graph(GraphHandle graph) {
  const std::scoped_lock lock(mutex_);
  graphs_.destroy(graph);
}

void SimDriver::pass_time(Seconds duration) {
  const std::scoped_lock lock(mutex_);
  simulation_.clocks.spend(duration);
}

void SimDriver::use_host_thread(std::size_t thread) {
  const std::scoped_lock lock(mutex_);
  simulation_.clocks.use_thread(thread);
}

void SimDriver::align_host_threads() {
  const std::scoped_lock lock(mutex_);
  simulation_.clocks.align();
}

void SimDriver::hold_up_threads(bool several) {
  const std::scoped_lock lock(mutex_);
  simulation_.clocks.hold_up(several);
}

// All are enqueued before the first is waited for: virtual threads are played one after another.
Seconds SimDriver::copy_by_threads(const std::vector<Enqueued>& copies) {
  const std::size_t caller = simulation_.clocks.thread();
  for (std::size_t i = 0; i < copies.size(); ++i) use_host_thread(i);
  align_host_threads();
  const Seconds start = now();
  hold_up_threads(copies.size() > 1);
  for (std::size_t i = 0; i < copies.size(); ++i)
    use_host_thread(i), copy(copies[i].request, copies[i].stream);
  for (std::size_t i = 0; i < copies.size(); ++i) use_host_thread(i), synchronize(copies[i].stream);
  hold_up_threads(false);
  use_host_thread(caller);
  align_host_threads();
  return now() - start;
}

std::vector<std::string> SimDriver::violations() const {
  const std::scoped_lock lock(mutex_);
  return simulation_.findings.violations();
}

std::vector<std::string> SimDriver::leaks() const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::string> leaks = memory_.leaks();
  const auto add = [&](std::size_t count, const char* what) {
    if (count > 0) leaks.push_back(fmt::format("{} {}", count, what));
  };
  add(streams_.count(), "streams");
  add(events_.count(), "events");
  add(graphs_.count(), "graphs");
  add(kernels_.count(), "kernels");
  add(sharing_.count(), "imports");
  return leaks;
}

std::vector<Span> SimDriver::trace() {
  const std::scoped_lock lock(mutex_);
  simulation_.fluid.drain();
  simulation_.clocks.meet_nodes_at(simulation_.fluid.now());
  return simulation_.findings.spans();
}

std::vector<Span> SimDriver::finished_copies() const {
  const std::scoped_lock lock(mutex_);
  return simulation_.findings.spans();
}

void SimDriver::fail_nth(Call call, int nth) {
  const std::scoped_lock lock(mutex_);
  simulation_.faults.fail_nth(call, nth);
}

void SimDriver::fail_from(Call call, int nth) {
  const std::scoped_lock lock(mutex_);
  simulation_.faults.fail_from(call, nth);
}

void SimDriver::clear_faults() {
  const std::scoped_lock lock(mutex_);
  simulation_.faults.clear();
}

void SimDriver::watch_sites() {
  const std::scoped_lock lock(mutex_);
  simulation_.faults.watch_sites();
}

std::vector<int> SimDriver::uses_by_site(Call call, int before) const {
  const std::scoped_lock lock(mutex_);
  return simulation_.faults.uses_by_site(call, before);
}

int SimDriver::uses(Call call) const {
  const std::scoped_lock lock(mutex_);
  return simulation_.faults.uses(call);
}

}  // namespace polypath::sim
