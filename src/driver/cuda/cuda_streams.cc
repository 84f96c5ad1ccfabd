#include "driver/cuda/cuda_streams.h"

#include "core/ignore_errors.h"
#include "driver/cuda/stream_room.h"

namespace polypath::cuda {

CudaStreams::CudaStreams(const CudaGpus& gpus, Contexts& contexts)
    : cuda_(functions()), gpus_(gpus), contexts_(contexts) {}

CudaStreams::~CudaStreams() {
  if (!contexts_.usable()) return;
  for (const auto& [gpu, streams] : spare_)
    for (const StreamPointer stream : streams)
      ignore_errors(
          [&, owner = gpu] { StreamRoom::of_process().give(contexts_.ours(owner), stream); });
}

StreamHandle CudaStreams::foreign(PlaceId gpu, std::uintptr_t stream) const {
  return {pack(gpus_.ordinal(gpu), reinterpret_cast<const void*>(stream)) | kForeign};
}

std::optional<PlaceId> CudaStreams::gpu_of_foreign(std::uintptr_t stream) {
  const bool by_default = stream == 0 || stream == kStreamLegacy || stream == kStreamPerThread;
  ContextPointer context = nullptr;
  const Result result =
      by_default ? cuda_.context_current(&context)
                 : cuda_.stream_context(reinterpret_cast<StreamPointer>(stream), &context);
  if (result != kSuccess || context == nullptr) return std::nullopt;
  const std::optional<int> gpu = contexts_.gpu_of(context);
  const PlaceId place = gpu ? gpus_.place_of(*gpu) : PlaceId{};
  return place.valid() ? std::optional(place) : std::nullopt;
}

// CUDA gives streams to a few queues of the hardware by turns, and work in one queue goes in order:
// of forty streams, every fourth one stood still while one was held (H200, driver 580,
// results/h200x2/driver_behaviour.json). So ours are made in groups after which it is the same
// queue's turn as before: the program's streams are in the queues that they would have alone.
constexpr int kStreamGroup = 8;

StreamHandle CudaStreams::create(PlaceId gpu) {
  const int index = gpus_.ordinal(gpu);
  const std::scoped_lock lock(mutex_);
  auto& spare = spare_[index];
  if (spare.empty()) make_spare(index);
  const StreamPointer stream = spare.back();
  spare.pop_back();
  return {pack(index, stream)};
}

void CudaStreams::make_spare(int gpu) {
  const ContextPointer context = contexts_.ours(gpu);
  const Current current(context);
  for (int i = 0; i < kStreamGroup; ++i) {
    StreamPointer stream = StreamRoom::of_process().take(context);
    if (stream == nullptr)
      check(cuda_.stream_create(&stream, kStreamNonBlocking), "cuStreamCreate");
    spare_[gpu].push_back(stream);
  }
}

// Kept for the next one: see above.
void CudaStreams::destroy(StreamHandle stream) {
  const int gpu = gpus_.of_handle(stream.value);
  const std::scoped_lock lock(mutex_);
  spare_[gpu].push_back(pointer_of(stream));
}

bool CudaStreams::is_capturing(StreamHandle stream) {
  const Current current(context_of(stream));
  int status = kCaptureNone;
  const Result result = cuda_.stream_capturing(pointer_of(stream), &status);
  if (result == kStreamCaptureImplicit) return true;  // the legacy stream beside a capture
  check(result, "cuStreamIsCapturing");
  return status != kCaptureNone;
}

void CudaStreams::synchronize(StreamHandle stream) {
  const Current current(context_of(stream));
  const RelaxedCapture relaxed;
  check(cuda_.stream_synchronize(pointer_of(stream)), "cuStreamSynchronize");
}

}  // namespace polypath::cuda
