#include "driver/cuda/cuda_driver.h"

#include <fmt/format.h>
#include <unistd.h>

#include "core/error.h"
#include "core/ignore_errors.h"
#include "driver/cuda/gpu_facts.h"
#include "driver/cuda/handles.h"
#include "driver/cuda/nvml.h"
#include "driver/cuda/stream_room.h"

namespace polypath::cuda {
namespace {

const DriverLibrary& usable_library() {
  const DriverLibrary& library = DriverLibrary::get();
  if (!library.problem.empty())
    fail(ErrorCode::unsupported, "the GPUs cannot be used", library.problem,
         "Name a machine to simulate.");
  return library;
}

}  // namespace

CudaDriver::CudaDriver(const Machine& machine, Options options)
    : cuda_(usable_library().functions),
      start_(std::chrono::steady_clock::now()),
      ordinals_(machine.places.size(), -1),
      gpus_(machine.places_of(PlaceKind::gpu)),
      contexts_(options.peer_access, options.own_contexts) {
  const auto visible = static_cast<std::size_t>(DriverLibrary::get().gpus);
  if (gpus_.size() > visible || gpus_.empty())
    fail(ErrorCode::invalid_machine,
         fmt::format("machine {} cannot be this computer", machine.name),
         fmt::format("it has {} GPUs and {} are visible", gpus_.size(), visible),
         "Name it with --machine to simulate it.");
  for (std::size_t i = 0; i < gpus_.size(); ++i) ordinals_[gpus_[i].index()] = static_cast<int>(i);
  host_ = machine.nearest_host(gpus_.front());
}

CudaDriver::~CudaDriver() {
  if (!contexts_.usable()) return;
  for (const auto* kernels : {&reduce_kernels_, &await_kernels_})
    for (const auto& [gpu, kernel] : *kernels)
      if (kernel.value != 0) ignore_errors([&, loaded = kernel] { unload_kernel(loaded); });
  for (const auto& [gpu, streams] : spare_streams_)
    for (const StreamPointer stream : streams)
      ignore_errors(
          [&, owner = gpu] { StreamRoom::of_process().give(contexts_.ours(owner), stream); });
  for (const auto& [kind, address] : spare_staging_) allocations_[address] = kind.first;
  staging_.clear();
  while (!allocations_.empty()) {
    const Address left = allocations_.begin()->first;
    try {
      free(left);
    } catch (const Error&) {
      allocations_.erase(left);  // CUDA has shut down, and taken it along
    }
  }
}

bool CudaDriver::is_gpu(PlaceId place) const {
  return place.valid() && place.index() < ordinals_.size() && ordinals_[place.index()] >= 0;
}

int CudaDriver::ordinal(PlaceId gpu) const {
  if (is_gpu(gpu)) return ordinals_[gpu.index()];
  fail(ErrorCode::invalid_argument, fmt::format("place number {} is no GPU", gpu.value),
       "streams and events belong to GPUs", "Pass a GPU of the machine.");
}

PlaceId CudaDriver::place_of_gpu(int gpu) const {
  const auto index = static_cast<std::size_t>(gpu);
  return index < gpus_.size() ? gpus_[index] : PlaceId{};
}

// Zero is the default stream, of the first GPU.
int CudaDriver::gpu_of(std::uintptr_t handle) const {
  const int gpu = handle == 0 ? 0 : gpu_in(handle);
  if (gpu >= 0 && static_cast<std::size_t>(gpu) < gpus_.size()) return gpu;
  fail(ErrorCode::invalid_argument, fmt::format("handle 0x{:x} is unknown", handle),
       "this driver did not make it", "Pass a handle that it returned.");
}

ContextPointer CudaDriver::context_of(StreamHandle stream) {
  const int gpu = gpu_of(stream.value);
  return is_foreign(stream) ? contexts_.of(gpu) : contexts_.ours(gpu);
}

StreamHandle CudaDriver::foreign_stream(PlaceId gpu, std::uintptr_t stream) {
  return {pack(ordinal(gpu), reinterpret_cast<const void*>(stream)) | kForeign};
}

std::optional<PlaceId> CudaDriver::gpu_of_foreign(std::uintptr_t stream) {
  const bool by_default = stream == 0 || stream == kStreamLegacy || stream == kStreamPerThread;
  ContextPointer context = nullptr;
  const Result result =
      by_default ? cuda_.context_current(&context)
                 : cuda_.stream_context(reinterpret_cast<StreamPointer>(stream), &context);
  if (result != kSuccess || context == nullptr) return std::nullopt;
  const std::optional<int> gpu = contexts_.gpu_of(context);
  const PlaceId place = gpu ? place_of_gpu(*gpu) : PlaceId{};
  return place.valid() ? std::optional(place) : std::nullopt;
}

Seconds CudaDriver::now() {
  return {std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count()};
}

// CUDA gives streams to a few queues of the hardware by turns, and work in one queue goes in order:
// of forty streams, every fourth one stood still while one was held (H200, driver 580,
// results/h200x2/driver_behaviour.json). So ours are made in groups after which it is the same
// queue's turn as before: the program's streams are in the queues that they would have alone.
constexpr int kStreamGroup = 8;

StreamHandle CudaDriver::create_stream(PlaceId gpu) {
  const int index = ordinal(gpu);
  const std::scoped_lock lock(mutex_);
  auto& spare = spare_streams_[index];
  if (spare.empty()) make_streams(index);
  const StreamPointer stream = spare.back();
  spare.pop_back();
  return {pack(index, stream)};
}

void CudaDriver::make_streams(int gpu) {
  const ContextPointer context = contexts_.ours(gpu);
  const Current current(context);
  for (int i = 0; i < kStreamGroup; ++i) {
    StreamPointer stream = StreamRoom::of_process().take(context);
    if (stream == nullptr)
      check(cuda_.stream_create(&stream, kStreamNonBlocking), "cuStreamCreate");
    spare_streams_[gpu].push_back(stream);
  }
}

// Kept for the next one: see above.
void CudaDriver::destroy_stream(StreamHandle stream) {
  const int gpu = gpu_of(stream.value);
  const std::scoped_lock lock(mutex_);
  spare_streams_[gpu].push_back(pointer_of(stream));
}

bool CudaDriver::is_capturing(StreamHandle stream) {
  const Current current(context_of(stream));
  int status = kCaptureNone;
  const Result result = cuda_.stream_capturing(pointer_of(stream), &status);
  if (result == kStreamCaptureImplicit) return true;  // the legacy stream beside a capture
  check(result, "cuStreamIsCapturing");
  return status != kCaptureNone;
}

void CudaDriver::synchronize(StreamHandle stream) {
  const Current current(context_of(stream));
  const RelaxedCapture relaxed;
  check(cuda_.stream_synchronize(pointer_of(stream)), "cuStreamSynchronize");
}

// Of the two GPUs' contexts only the copying GPU's is needed.
void CudaDriver::open_hop(PlaceId source, PlaceId destination, bool pulled) {
  if (!is_gpu(source) && !is_gpu(destination)) return;
  CopyRequest copies;
  copies.destination_place = destination, copies.source_place = source, copies.pulled = pulled;
  const int copying = copying_gpu(copies);
  (void)contexts_.ours(copying);
  if (!is_gpu(source) || !is_gpu(destination)) return;
  const int other = ordinal(copying == ordinal(source) ? destination : source);
  contexts_.require(copying, other);
  contexts_.reach(copying, other);
}

void CudaDriver::note_lost(PlaceId source, PlaceId destination) {
  if (is_gpu(source) && is_gpu(destination))
    contexts_.note_lost(ordinal(source), ordinal(destination));
}

bool CudaDriver::is_open(PlaceId place) {
  return !is_gpu(place) || contexts_.has(ordinal(place)) ||
         (!contexts_.are_own() && is_active(ordinal(place)));
}

bool CudaDriver::is_used_by_others(PlaceId gpu) {
  if (!is_gpu(gpu)) return false;
  const int number = ordinal(gpu);
  const std::string& bus_id = facts().gpus[static_cast<std::size_t>(number)].bus_id;
  return are_others_among(processes_on(bus_id), static_cast<unsigned>(getpid()),
                          contexts_.has(number) || is_active(number));
}

// The source's GPU pushes, unless the destination's is to pull; the host has none.
int CudaDriver::copying_gpu(const CopyRequest& request) const {
  const bool pulled = request.pulled && is_gpu(request.destination_place);
  return ordinal(is_gpu(request.source_place) && !pulled ? request.source_place
                                                         : request.destination_place);
}

// On the program's own streams its own addresses are the right ones.
void CudaDriver::copy(const CopyRequest& request, StreamHandle stream) {
  const ContextPointer context = context_of(stream);
  const Current current(context);
  connect(request, stream);
  if (is_foreign(stream) || imports_.empty()) return enqueue(request, pointer_of(stream));
  const Reached source = imports_.reach(request.source, context);
  const Reached destination = imports_.reach(request.destination, context);
  CopyRequest reached = request;
  reached.source = source.address;
  reached.destination = destination.address;
  enqueue(reached, pointer_of(stream));
  for (const Reached& end : {source, destination})
    if (end.mapping) end.mapping->note_use(stream);
}

// Opens the memory of each GPU to the other: `programs`, to copies in the program's own streams.
// How imported memory is reached was settled when it was mapped: then the GPU that copies must
// reach the other end. (CUDA copies without that as well, by a detour through the host.)
void CudaDriver::connect(const CopyRequest& request, int copying_gpu, bool programs) {
  if (!programs)
    for (const PlaceId place : {request.source_place, request.destination_place})
      if (is_gpu(place)) contexts_.reach(copying_gpu, ordinal(place));
  if (!is_gpu(request.source_place) || !is_gpu(request.destination_place)) return;
  const bool from_import = imports_.find(request.source).has_value();
  const bool to_import = imports_.find(request.destination).has_value();
  if (from_import && to_import) return;
  const int source = from_import ? copying_gpu : ordinal(request.source_place);
  const int destination = to_import ? copying_gpu : ordinal(request.destination_place);
  if (programs) contexts_.connect_programs(source, destination);
  else contexts_.connect(source, destination);
}

void CudaDriver::connect(const CopyRequest& request, StreamHandle stream) {
  connect(request, gpu_of(stream.value), is_foreign(stream));
}

void CudaDriver::enqueue(const CopyRequest& request, StreamPointer stream) {
  const std::size_t bytes = request.bytes.value;
  const bool from_gpu = is_gpu(request.source_place), to_gpu = is_gpu(request.destination_place);
  if (from_gpu && to_gpu) {
    check(cuda_.copy_between(request.destination.value, request.source.value, bytes, stream),
          "cuMemcpyDtoDAsync");
  } else if (to_gpu) {
    check(cuda_.copy_in(request.destination.value,
                        reinterpret_cast<const void*>(request.source.value), bytes, stream),
          "cuMemcpyHtoDAsync");
  } else if (from_gpu) {
    check(cuda_.copy_out(reinterpret_cast<void*>(request.destination.value), request.source.value,
                         bytes, stream),
          "cuMemcpyDtoHAsync");
  } else {
    check(cuda_.copy_any(request.destination.value, request.source.value, bytes, stream),
          "cuMemcpyAsync");
  }
}

void CudaDriver::copy_native(const NativeCopy& request, StreamHandle stream) {
  const Current current(context_of(stream));
  if (request.destination_place.valid() && request.source_place.valid()) {
    const CopyRequest placed =
        with_places(request, request.destination_place, request.source_place);
    connect(placed, stream);
    return enqueue(placed, pointer_of(stream));
  }
  check(cuda_.copy_any(request.destination.value, request.source.value, request.bytes.value,
                       pointer_of(stream)),
        "cuMemcpyAsync");
}

}  // namespace polypath::cuda
