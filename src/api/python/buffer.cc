#include "api/python/buffer.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "api/python/ctrl_c.h"
#include "context/reports.h"
#include "core/error.h"
#include "core/ignore_errors.h"
#include "core/interruption.h"
#include "engine/execute/events.h"
#include "plan/joint/joint.h"

namespace nb = nanobind;

namespace polypath::python {
namespace {

// The copy's length: the given one, else as many bytes as fit into both buffers behind their
// offsets.
Bytes length_of(const OwnedBuffer& destination, const OwnedBuffer& source,
                std::optional<std::uint64_t> bytes, std::uint64_t destination_offset,
                std::uint64_t source_offset) {
  const auto left = [](const OwnedBuffer& buffer, std::uint64_t offset, const char* what) {
    if (offset > buffer.size.value)
      fail(ErrorCode::invalid_argument,
           std::string(what) + " offset " + std::to_string(offset) + " cannot be used",
           "the buffer has " + std::to_string(buffer.size.value) + " bytes", "Correct it.");
    return buffer.size.value - offset;
  };
  const std::uint64_t fits = std::min(left(destination, destination_offset, "destination"),
                                      left(source, source_offset, "source"));
  return {bytes.value_or(fits)};
}

std::vector<std::string> names_of(const std::vector<CopyResult>& results) {
  std::vector<std::string> names;
  for (const CopyResult& result : results) names.emplace_back(name_of(result.executor));
  return names;
}

nb::object dictionary_of(const std::string& json) {
  return nb::module_::import_("json").attr("loads")(json.c_str());
}

template <class Gpu>
StreamHandle handle_on(const ContextPointer& context, const Gpu& gpu, nb::handle stream) {
  std::uintptr_t number = 0;
  if (nb::try_cast(stream, number)) return context->foreign_stream(gpu, number);
  if (nb::isinstance<Stream>(stream)) {
    const auto& own = nb::cast<const Stream&>(stream);
    if (own.context == context) return own.handle;
    fail(ErrorCode::invalid_argument, "a stream belongs to another context",
         "a context knows its own machine only", "Make it with this one.");
  }
  throw nb::type_error(
      "the stream is neither a number nor a Stream (CUDA's handles are numbers from 0 on) Pass one "
      "of them.");
}

}  // namespace

Stream::Stream(ContextPointer used_context, const std::string& of_gpu, StreamHandle made)
    : context(std::move(used_context)), gpu(of_gpu), handle(made) {}

Stream::~Stream() {
  const nb::gil_scoped_release unlocked;  // it waits for the stream's work
  ignore_errors([this] { context->destroy_stream(handle); });
}

// Streams of ranks that have been given up come to their end, too.
void Stream::synchronize() const {
  if (users.empty()) return context->synchronize(handle);
  try {
    await();
  } catch (const Error&) {
    users.check();
    throw;
  }
  users.check();
}

// It may wait for other ranks: that Ctrl-C can end.
void Stream::await() const {
  if (context->simulated()) return context->synchronize(handle);
  constexpr std::chrono::microseconds kFirst{10}, kLongest{500};
  Driver& driver = context->opened().driver();
  EventSet events(driver);
  const EventHandle end = events.on(context->machine().find_place(gpu));
  driver.record(end, handle);
  const EndsByCtrlC ends_by_ctrl_c;
  for (auto pause = kFirst; !driver.is_done(end); pause = std::min(2 * pause, kLongest)) {
    check_interruption();
    std::this_thread::sleep_for(pause);
  }
  context->synchronize(handle);
}

OwnedBuffer::OwnedBuffer(ContextPointer used_context, const std::string& at, Bytes bytes)
    : context(std::move(used_context)),
      place(at),
      size(bytes),
      address(context->allocate(at, bytes)) {}

OwnedBuffer::~OwnedBuffer() {
  const nb::gil_scoped_release unlocked;  // it waits for what may use the memory
  ignore_errors([this] { context->free(address); });
}

nb::object OwnedBuffer::array(nb::handle self) {
  auto& buffer = nb::cast<OwnedBuffer&>(self);
  const bool device = buffer.context->memory_at(buffer.address).kind == MemoryKind::device;
  if (device && !buffer.context->simulated())
    fail(ErrorCode::unsupported, "memory of " + buffer.place + " is no NumPy array",
         "the host cannot reach it", "Copy it into a buffer of the host first.");
  return nb::cast(nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>(
      reinterpret_cast<void*>(buffer.address.value), {buffer.size.value}, self));
}

StreamHandle handle_of(const ContextPointer& context, const std::string& gpu, nb::handle stream) {
  return handle_on(context, gpu, stream);
}

StreamHandle handle_of(const ContextPointer& context, PlaceId gpu, nb::handle stream) {
  return handle_on(context, gpu, stream);
}

// In a forked child a context is left as it is: its threads and handles are not there.
Holder::Holder(const std::string& machine, bool trace)
    : context_(new Context(open_machine(machine, read_settings(), {.record_trace = trace})),
               [process = getpid()](Context* context) {
                 if (getpid() == process) delete context;
               }) {}

ContextPointer Holder::context() const {
  if (context_) return context_;
  fail(ErrorCode::invalid_argument, "the context is closed",
       "close() or the end of 'with' closes it", "Open another one.");
}

// Other threads run while streams are waited for: they find the context closed already.
void Holder::close() {
  ContextPointer last = std::exchange(context_, nullptr);
  auto streams = std::exchange(own_streams_, {});
  streams.clear();
  const nb::gil_scoped_release unlocked;
  last.reset();
}

std::string Holder::describe() const {
  if (!context_) return "<polypath.Context, closed>";
  return "<polypath.Context of " + context_->machine().name +
         (context_->simulated() ? ", simulated>" : ">");
}

std::unique_ptr<OwnedBuffer> Holder::allocate(const std::string& place, std::uint64_t bytes) {
  const ContextPointer used = context();
  const nb::gil_scoped_release unlocked;
  return std::make_unique<OwnedBuffer>(used, place, Bytes{bytes});
}

std::unique_ptr<Stream> Holder::stream(const std::string& gpu) {
  const ContextPointer used = context();
  return std::make_unique<Stream>(used, gpu, used->create_stream(gpu));
}

// The stream for calls without one: the sending GPU's, else the receiving GPU's.
std::shared_ptr<const Stream> Holder::own_stream(const OwnedBuffer& destination,
                                                 const OwnedBuffer& source) {
  const ContextPointer held = context();
  const Machine& machine = held->machine();
  const bool from_gpu = machine.place(machine.find_place(source.place)).kind == PlaceKind::gpu;
  auto& stream = own_streams_[from_gpu ? source.place : destination.place];
  if (!stream) stream = this->stream(from_gpu ? source.place : destination.place);
  return stream;
}

std::string Holder::copy(OwnedBuffer& destination, OwnedBuffer& source,
                         std::optional<std::uint64_t> bytes, std::uint64_t destination_offset,
                         std::uint64_t source_offset, const Stream* stream,
                         const PlanOptions& options) {
  const ContextPointer opened = context();
  require_own(destination.context == opened && source.context == opened &&
              (stream == nullptr || stream->context == opened));
  const Bytes length = length_of(destination, source, bytes, destination_offset, source_offset);
  const auto own = stream == nullptr ? own_stream(destination, source) : nullptr;
  const Stream& used = stream != nullptr ? *stream : *own;
  const nb::gil_scoped_release unlocked;
  const CopyResult result =
      opened->copy(destination.address + Bytes{destination_offset},
                   source.address + Bytes{source_offset}, length, used.handle, options);
  if (stream == nullptr) used.synchronize();
  return name_of(result.executor);
}

void Holder::require_own(bool own) {
  if (!own)
    fail(ErrorCode::invalid_argument, "a buffer or stream belongs to another context",
         "a copy stays within one machine", "Allocate both buffers and the stream with this one.");
}

// Each is as large as its smaller end. Those without a stream are on streams of this holder's.
std::vector<std::string> Holder::copy_many(const std::vector<BufferPair>& pairs,
                                           const Stream* stream, const PlanOptions& options) {
  const ContextPointer opened = context();
  require_own(stream == nullptr || stream->context == opened);
  std::vector<OrderedCopy> copies;
  std::set<std::shared_ptr<const Stream>> own_ones;
  for (const auto& [destination, source] : pairs) {
    if (destination == nullptr || source == nullptr)
      throw nb::type_error("a buffer is None (a copy needs both ends) Pass polypath.Buffer.");
    require_own(destination->context == opened && source->context == opened);
    const auto own = stream == nullptr ? own_stream(*destination, *source) : nullptr;
    if (own) own_ones.insert(own);
    const Stream& used = own ? *own : *stream;
    copies.push_back({.stream = {used.gpu, used.handle},
                      .destination = destination->address,
                      .source = source->address,
                      .bytes = length_of(*destination, *source, std::nullopt, 0, 0),
                      .options = options});
  }
  const nb::gil_scoped_release unlocked;
  std::vector<std::string> how = names_of(opened->copy_many(copies));
  for (const auto& own : own_ones) own->synchronize();
  return how;
}

std::vector<std::string> Holder::copy_many_addresses(const std::vector<CopyArgument>& copies) {
  const ContextPointer opened = context();
  std::vector<OrderedCopy> ordered;
  for (const auto& [destination, source, bytes, stream, beside] : copies)
    ordered.push_back({.stream = stream_of(stream),
                       .beside = streams_of(beside),
                       .destination = {destination},
                       .source = {source},
                       .bytes = {bytes}});
  const nb::gil_scoped_release unlocked;
  return names_of(opened->copy_many(ordered));
}

std::map<std::string, std::size_t> Holder::copy_pieces(Words destinations, Words sources,
                                                       Words sizes, const StreamArgument& stream,
                                                       const std::vector<StreamArgument>& beside) {
  const ContextPointer opened = context();
  if (destinations.size() != sizes.size() || sources.size() != sizes.size())
    fail(ErrorCode::invalid_argument, "pieces cannot be copied",
         "their destinations, sources and sizes differ in number", "Pass as many of each.");
  const GpuStream used = stream_of(stream);
  const std::vector<GpuStream> others = streams_of(beside);
  const nb::gil_scoped_release unlocked;
  std::vector<Piece> pieces;
  pieces.reserve(sizes.size());
  for (std::size_t k = 0; k < sizes.size(); ++k)
    pieces.push_back({{destinations.data()[k]}, {sources.data()[k]}, {sizes.data()[k]}});
  std::map<Executor, std::size_t> counts;
  for (const CopyResult& result : opened->copy_pieces(used, others, pieces))
    ++counts[result.executor];
  std::map<std::string, std::size_t> how;
  for (const auto& [executor, count] : counts) how[name_of(executor)] = count;
  return how;
}

std::vector<GpuStream> Holder::streams_of(const std::vector<StreamArgument>& arguments) {
  std::vector<GpuStream> streams;
  for (const StreamArgument& argument : arguments) streams.push_back(stream_of(argument));
  return streams;
}

GpuStream Holder::stream_of(const StreamArgument& argument) {
  const auto& [gpu, stream] = argument;
  return {gpu, handle_of(context(), gpu, stream)};
}

std::string Holder::copy_addresses(std::uintptr_t destination, std::uintptr_t source,
                                   std::uint64_t bytes, const StreamArgument& stream,
                                   const std::vector<StreamArgument>& beside) {
  const ContextPointer opened = context();
  const GpuStream used = stream_of(stream);
  const std::vector<GpuStream> others = streams_of(beside);
  const nb::gil_scoped_release unlocked;
  return name_of(opened->copy_beside(used, others, {destination}, {source}, {bytes}).executor);
}

std::string Holder::place_of(std::uintptr_t address) {
  const ContextPointer used = context();
  return used->machine().place(used->memory_at({address}).place).name;
}

bool Holder::is_pageable(std::uintptr_t address) {
  return context()->memory_at({address}).kind == MemoryKind::pageable;
}

std::string Holder::nearest_host(const std::string& gpu) {
  const Machine& machine = context()->machine();
  return machine.place(machine.nearest_host(machine.find_place(gpu))).name;
}

nb::object Holder::plan(const std::string& source, const std::string& destination,
                        std::uint64_t bytes) {
  const ContextPointer used = context();
  std::string text;
  {
    const nb::gil_scoped_release unlocked;
    text = plan_report(used->machine(), *used->plan(source, destination, {bytes}));
  }
  return dictionary_of(text);
}

double Holder::predict_native(const std::vector<TransferArgument>& transfers) {
  const ContextPointer used = context();
  const nb::gil_scoped_release unlocked;
  std::vector<JointTransfer> set;
  for (const auto& [source, destination, bytes] : transfers) {
    const auto [from, to] = used->machine().find_ends(source, destination);
    set.push_back({.source = from, .destination = to, .bytes = {bytes}});
  }
  Planner planner(used->machine(), read_settings());
  return JointPlanner(planner).plan(set, {.executor = Executor::native})->predicted.value;
}

nb::object Holder::trace() {
  const ContextPointer used = context();
  std::string text;
  {
    const nb::gil_scoped_release unlocked;
    text = trace_report(used->machine(), used->trace());
  }
  return dictionary_of(text);
}

}  // namespace polypath::python
