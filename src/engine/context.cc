#include "engine/context.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"
#include "machine/library.h"

namespace polypath {
namespace {

constexpr const char* kDefaultMachine = "h200x4";

sim::Options driver_options(bool trace) {
  sim::Options options;
  options.record_trace = trace;
  return options;
}

// What POLYPATH_STATS prints when the context goes.
std::string describe(const Statistics& counted) {
  return fmt::format(
      "polypath: {} transfers, {}; {} native, {} by streams, {} by graphs, {} through pinned "
      "windows, {} fallbacks, {} errors; {} over staged paths; graphs: {} as they were, {} "
      "updated, {} instantiated, {} evicted\n",
      counted.transfers, describe_bytes(counted.bytes), counted.native, counted.streams,
      counted.graphs, counted.pageable, counted.fallbacks, counted.errors,
      describe_bytes(counted.staged_bytes), counted.graph_hits, counted.graph_updates,
      counted.graph_instantiations, counted.graph_evictions);
}

}  // namespace

Machine choose_machine(const std::string& name, const Settings& settings) {
  if (!name.empty()) return load_machine(name);
  return load_machine(settings.machine.empty() ? kDefaultMachine : settings.machine);
}

Context::Context(const std::string& machine, const Settings& settings, bool trace)
    : settings_(settings),
      traced_(trace),
      driver_(choose_machine(machine, settings), driver_options(trace)),
      engine_(std::make_unique<Engine>(driver_, driver_.machine(), settings)) {}

Context::~Context() {
  if (settings_.statistics) fmt::print(stderr, "{}", describe(engine_->statistics()));
  try {
    for (const auto& [stream, gpu] : streams_) driver_.synchronize(stream);
    engine_.reset();
    for (const auto& [stream, gpu] : streams_) driver_.destroy_stream(stream);
    for (const auto& [address, place] : allocations_) driver_.free(address);
  } catch (const Error&) {
    // Whatever could not be given back goes with the driver.
  }
}

Address Context::allocate(const std::string& place, Bytes bytes) {
  const PlaceId id = machine().find_place(place);
  const Address address = driver_.allocate(id, bytes);
  const std::scoped_lock lock(mutex_);
  allocations_[address] = id;
  return address;
}

void Context::free(Address address) {
  const std::scoped_lock lock(mutex_);
  if (!allocations_.contains(address))
    fail(ErrorCode::invalid_argument, fmt::format("address 0x{:x} cannot be freed", address.value),
         "allocate did not return it, or it has been freed", "Free each allocation once.");
  for (const auto& [stream, gpu] : streams_) driver_.synchronize(stream);
  allocations_.erase(address);
  driver_.free(address);
}

StreamHandle Context::create_stream(const std::string& gpu) {
  const PlaceId id = machine().find_place(gpu);
  const StreamHandle stream = driver_.create_stream(id);
  const std::scoped_lock lock(mutex_);
  streams_[stream] = id;
  return stream;
}

void Context::destroy_stream(StreamHandle stream) {
  (void)gpu_of(stream);
  driver_.synchronize(stream);
  const std::scoped_lock lock(mutex_);
  streams_.erase(stream);
  driver_.destroy_stream(stream);
}

void Context::synchronize(StreamHandle stream) {
  (void)gpu_of(stream);
  driver_.synchronize(stream);
}

PlaceId Context::gpu_of(StreamHandle stream) {
  const std::scoped_lock lock(mutex_);
  const auto found = streams_.find(stream);
  if (found != streams_.end()) return found->second;
  fail(ErrorCode::invalid_argument, fmt::format("stream {} does not exist", stream.value),
       "this context did not create it, or it has been destroyed", "Create one with it.");
}

CopyResult Context::copy(Address destination, Address source, Bytes bytes, StreamHandle stream,
                         const PlanOptions& options) {
  return engine_->copy({destination, source, bytes, stream, gpu_of(stream), options});
}

PlanPointer Context::plan(const std::string& source, const std::string& destination, Bytes bytes,
                          const PlanOptions& options) {
  return engine_->plan(machine().find_place(source), machine().find_place(destination), bytes,
                       options);
}

Seconds Context::now() { return driver_.now(); }

std::vector<sim::Span> Context::trace() {
  if (!traced_)
    fail(ErrorCode::invalid_argument, "this context keeps no trace", "it was not asked to",
         "Create the context with tracing on.");
  return driver_.trace();
}

}  // namespace polypath
