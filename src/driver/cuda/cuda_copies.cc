#include "driver/cuda/cuda_copies.h"

namespace polypath::cuda {

CudaCopies::CudaCopies(const CudaGpus& gpus, Contexts& contexts, PeerLinks& peers,
                       CudaStreams& streams)
    : cuda_(functions()), gpus_(gpus), contexts_(contexts), peers_(peers), streams_(streams) {}

// Of the two GPUs' contexts only the copying GPU's is needed.
void CudaCopies::open_hop(PlaceId source, PlaceId destination, bool pulled) {
  if (!gpus_.is_gpu(source) && !gpus_.is_gpu(destination)) return;
  CopyRequest copies;
  copies.destination_place = destination, copies.source_place = source, copies.pulled = pulled;
  const int copying = copying_gpu(copies);
  (void)contexts_.ours(copying);
  if (!gpus_.is_gpu(source) || !gpus_.is_gpu(destination)) return;
  const int other = gpus_.ordinal(copying == gpus_.ordinal(source) ? destination : source);
  peers_.require(copying, other);
  peers_.reach(copying, other);
}

// The source's GPU pushes, unless the destination's is to pull; the host has none.
int CudaCopies::copying_gpu(const CopyRequest& request) const {
  const bool pulled = request.pulled && gpus_.is_gpu(request.destination_place);
  return gpus_.ordinal(gpus_.is_gpu(request.source_place) && !pulled ? request.source_place
                                                                     : request.destination_place);
}

// On the program's own streams its own addresses are the right ones.
void CudaCopies::copy(const CopyRequest& request, StreamHandle stream) {
  const ContextPointer context = streams_.context_of(stream);
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
void CudaCopies::connect(const CopyRequest& request, int copying_gpu, bool programs) {
  if (!programs)
    for (const PlaceId place : {request.source_place, request.destination_place})
      if (gpus_.is_gpu(place)) peers_.reach(copying_gpu, gpus_.ordinal(place));
  if (!gpus_.is_gpu(request.source_place) || !gpus_.is_gpu(request.destination_place)) return;
  const bool from_import = imports_.find(request.source).has_value();
  const bool to_import = imports_.find(request.destination).has_value();
  if (from_import && to_import) return;
  const int source = from_import ? copying_gpu : gpus_.ordinal(request.source_place);
  const int destination = to_import ? copying_gpu : gpus_.ordinal(request.destination_place);
  if (programs) peers_.connect_programs(source, destination);
  else peers_.connect(source, destination);
}

void CudaCopies::connect(const CopyRequest& request, StreamHandle stream) {
  connect(request, gpus_.of_handle(stream.value), is_foreign(stream));
}

void CudaCopies::enqueue(const CopyRequest& request, StreamPointer stream) {
  const std::size_t bytes = request.bytes.value;
  const bool from_gpu = gpus_.is_gpu(request.source_place),
             to_gpu = gpus_.is_gpu(request.destination_place);
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

void CudaCopies::copy_native(const NativeCopy& request, StreamHandle stream) {
  const Current current(streams_.context_of(stream));
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

ContextPointer CudaCopies::copying_context(const CopyRequest& request) {
  const int gpu = copying_gpu(request);
  connect(request, gpu, false);
  return contexts_.ours(gpu);
}

}  // namespace polypath::cuda
