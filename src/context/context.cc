#include "context/context.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/ignore_errors.h"
#include "core/standard_error.h"
#include "core/text.h"
#include "engine/call/dependence.h"
#include "engine/execute/events.h"

namespace polypath::context {
namespace {

// The statistics that POLYPATH_STATS prints when the context goes.
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

// After an error some of what was to be copied may be in the stream: what comes next in the streams
// beside it waits for that, too.
template <class Copy, class OrderBack>
auto copied_in_order(const Copy& copy, const OrderBack& order_back) {
  auto result = [&] {
    try {
      return copy();
    } catch (const Error&) {
      ignore_errors(order_back);
      throw;
    }
  }();
  order_back();
  return result;
}

}  // namespace

Context::Context(OpenMachine opened)
    : opened_(std::move(opened)),
      driver_(opened_.driver()),
      engine_(new Engine(opened_.make_engine())) {}

Context::~Context() {
  if (opened_.settings().statistics.wanted) write_to_stderr(describe(engine_->statistics()));
  try {
    for (const auto& [stream, gpu] : streams_) driver_.synchronize(stream);
    engine_.reset();
    for (const auto& [stream, gpu] : streams_) driver_.destroy_stream(stream);
    for (const auto& [address, place] : allocations_) driver_.free(address);
  } catch (const Error&) {
    // Leaked resources are freed with the driver.
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
  for (const auto& [stream, gpu] : streams_) engine_->synchronize(stream);
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
  synchronize(stream);
  const std::scoped_lock lock(mutex_);
  streams_.erase(stream);
  driver_.destroy_stream(stream);
}

void Context::synchronize(StreamHandle stream) {
  (void)gpu_of(stream);
  engine_->synchronize(stream);
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
  return engine_->copy({.destination = destination,
                        .source = source,
                        .bytes = bytes,
                        .stream = stream,
                        .stream_gpu = gpu_of(stream),
                        .options = options});
}

PlanPointer Context::plan(const std::string& source, const std::string& destination, Bytes bytes,
                          const PlanOptions& options) {
  const auto [from, to] = machine().find_ends(source, destination);
  return engine_->plan(from, to, bytes, options);
}

StreamHandle Context::foreign_stream(const std::string& gpu, std::uintptr_t stream) {
  return foreign_stream(machine().find_place(gpu), stream);
}

StreamHandle Context::foreign_stream(PlaceId gpu, std::uintptr_t stream) {
  return driver_.foreign_stream(gpu, stream);
}

GpuStream Context::adopt_stream(std::uintptr_t stream) {
  if (simulated())
    fail(ErrorCode::unsupported, "a stream of CUDA cannot be used here",
         fmt::format("machine {} is simulated", machine().name),
         "Open the context without naming a machine, on a computer with GPUs.");
  if (const auto gpu = driver_.gpu_of_foreign(stream))
    return {machine().place(*gpu).name, driver_.foreign_stream(*gpu, stream)};
  fail(ErrorCode::invalid_argument, fmt::format("stream 0x{:x} cannot be used", stream),
       "it is in no GPU's primary context, or no context is current",
       "Create it in the context of cudaSetDevice or cuDevicePrimaryCtxRetain.");
}

MemoryInfo Context::memory_at(Address address) {
  if (const auto memory = driver_.find_memory(address)) return *memory;
  fail(ErrorCode::invalid_argument, fmt::format("address 0x{:x} is unknown", address.value),
       "no memory of this machine is there", "Pass an address inside an allocation.");
}

CopyResult Context::copy_on(const std::string& gpu, StreamHandle stream, Address destination,
                            Address source, Bytes bytes, const PlanOptions& options) {
  return engine_->copy({.destination = destination,
                        .source = source,
                        .bytes = bytes,
                        .stream = stream,
                        .stream_gpu = machine().find_place(gpu),
                        .options = options});
}

// The event may go at once: the wait is for the work that it stood for.
void Context::order(const GpuStream& earlier, const GpuStream& later) {
  EventSet events(driver_);
  const EventHandle event = events.on(machine().find_place(earlier.gpu));
  driver_.record(event, earlier.handle);
  driver_.wait(later.handle, event);
}

// The streams that a copy on the stream can be in order with.
std::vector<GpuStream> Context::waiting_beside(const GpuStream& stream,
                                               const std::vector<GpuStream>& beside) {
  std::vector<GpuStream> others = beside;
  if (!others.empty() && driver_.is_capturing(stream.handle))
    std::erase_if(others, [&](const auto& other) { return !driver_.is_capturing(other.handle); });
  return others;
}

std::vector<CopyResult> Context::copy_many(const std::vector<OrderedCopy>& copies,
                                           std::size_t* enqueued) {
  if (enqueued != nullptr) *enqueued = 0;
  std::map<std::pair<StreamHandle, StreamHandle>, std::pair<GpuStream, GpuStream>> orders;
  std::vector<CopyCall> calls;
  calls.reserve(copies.size());
  PlaceId gpu;
  for (const OrderedCopy& copy : copies) {
    const bool is_last_one = gpu.valid() && machine().place(gpu).name == copy.stream.gpu;
    if (!is_last_one) gpu = machine().find_place(copy.stream.gpu);
    for (const GpuStream& other : waiting_beside(copy.stream, copy.beside))
      orders.insert({{copy.stream.handle, other.handle}, {copy.stream, other}});
    calls.push_back({.destination = copy.destination,
                     .source = copy.source,
                     .bytes = copy.bytes,
                     .stream = copy.stream.handle,
                     .stream_gpu = gpu,
                     .options = copy.options});
  }
  std::vector<CopyResult> results;
  if (copies.size() > 1 && !orders.empty() && depend_on_each_other(calls)) {
    for (const CopyCall& call : calls) (void)engine_->decide(call);  // refuses bad arguments
    for (const OrderedCopy& copy : copies) {
      if (enqueued != nullptr) *enqueued = results.size();
      results.push_back(copy_many({copy}).front());
    }
    if (enqueued != nullptr) *enqueued = results.size();
    return results;
  }
  for (const auto& [handles, streams] : orders) order(streams.second, streams.first);
  return copied_in_order([&] { return engine_->copy_many(calls, enqueued); },
                         [&] {
                           for (const auto& [handles, streams] : orders)
                             order(streams.first, streams.second);
                         });
}

std::vector<CopyResult> Context::copy_pieces(const GpuStream& stream,
                                             const std::vector<GpuStream>& beside,
                                             std::span<const Piece> pieces, std::size_t* enqueued) {
  const PlaceId gpu = machine().find_place(stream.gpu);
  std::vector<CopyCall> calls;
  calls.reserve(pieces.size());
  for (const Piece& piece : pieces)
    calls.push_back({.destination = piece.destination,
                     .source = piece.source,
                     .bytes = piece.bytes,
                     .stream = stream.handle,
                     .stream_gpu = gpu});
  const std::vector<GpuStream> others = waiting_beside(stream, beside);
  for (const GpuStream& other : others) order(other, stream);
  return copied_in_order([&] { return engine_->copy_many(calls, enqueued); },
                         [&] {
                           for (const GpuStream& other : others) order(stream, other);
                         });
}

CopyResult Context::copy_beside(const GpuStream& stream, const std::vector<GpuStream>& beside,
                                Address destination, Address source, Bytes bytes) {
  const std::vector<GpuStream> others = waiting_beside(stream, beside);
  for (const GpuStream& other : others) order(other, stream);
  return copied_in_order(
      [&] { return copy_on(stream.gpu, stream.handle, destination, source, bytes); },
      [&] {
        for (const GpuStream& other : others) order(stream, other);
      });
}

std::vector<std::string> Context::violations() const {
  return simulated() ? opened_.simulator()->violations() : std::vector<std::string>{};
}

Seconds Context::now() { return driver_.now(); }

std::vector<sim::Span> Context::trace() {
  if (!opened_.simulation().record_trace)
    fail(ErrorCode::invalid_argument, "this context keeps no trace", "it was not asked to",
         "Create the context with tracing on.");
  return opened_.simulator()->trace();
}

}  // namespace polypath::context
