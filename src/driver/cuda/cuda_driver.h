#pragma once
// The Driver interface over libcuda. Handles are CUDA's own pointers, with the GPU in the upper 16
// bits, which user addresses leave free: no table stands between a call and CUDA.
//
// Contexts are the GPUs' primary ones, so that memory and streams of the CUDA runtime, PyTorch or
// CuPy in the same process are at home here. They are made when a GPU is first used. Threads' own
// current contexts stay as they are.

#include <chrono>
#include <vector>

#include "driver/computer.h"
#include "driver/cuda/contexts.h"
#include "driver/cuda/cuda_copies.h"
#include "driver/cuda/cuda_events.h"
#include "driver/cuda/cuda_flag.h"
#include "driver/cuda/cuda_gpus.h"
#include "driver/cuda/cuda_graph.h"
#include "driver/cuda/cuda_kernel.h"
#include "driver/cuda/cuda_memory.h"
#include "driver/cuda/cuda_reduce.h"
#include "driver/cuda/cuda_sharing.h"
#include "driver/cuda/cuda_streams.h"
#include "driver/cuda/imports.h"
#include "driver/cuda/peer_links.h"
#include "driver/driver.h"
#include "machine/machine.h"

namespace polypath::cuda {

/// Each part of the interface is a class of its own; this one forwards to them. They are destroyed
/// in the reverse order, and free nothing that queued work may use, nor anything in a forked child.
class CudaDriver final : public Driver {
 public:
  /// Without peer access other parts of the process may give GPUs access to each other's memory.
  /// With contexts of its own (contexts.h) it is for use beside a program that has streams; memory
  /// there cannot be shared with other processes. Error (unsupported) if the library is not usable,
  /// (invalid_machine) if the machine has more GPUs than there are.
  explicit CudaDriver(const Machine& machine, const GpuDriverOptions& options = {});

  std::string name() const override { return "cuda"; }
  Seconds now() override;
  bool is_open(PlaceId place) override;
  bool is_used_by_others(PlaceId gpu) override;
  void note_lost(PlaceId source, PlaceId destination) override;

  Address allocate(PlaceId place, Bytes bytes) override { return memory_.allocate(place, bytes); }
  Address allocate_zeros(PlaceId place, Bytes bytes) override {
    return memory_.allocate_zeros(place, bytes);
  }
  Address allocate_shareable(PlaceId place, Bytes bytes) override {
    return memory_.allocate_shareable(place, bytes);
  }
  Address allocate_staging(PlaceId place, const StagingUsers& users, Bytes bytes) override {
    return memory_.allocate_staging(place, users, bytes);
  }
  void free(Address address) override { memory_.free(address); }
  std::optional<MemoryInfo> find_memory(Address address) override { return memory_.find(address); }
  std::uint64_t memory_id(Address address) override { return id_of_memory(address); }
  /// What CUDA knows of memory beyond what the interface has.
  CudaMemory& memory() { return memory_; }

  StreamHandle create_stream(PlaceId gpu) override { return streams_.create(gpu); }
  void destroy_stream(StreamHandle stream) override { streams_.destroy(stream); }
  StreamHandle foreign_stream(PlaceId gpu, std::uintptr_t stream) override {
    return streams_.foreign(gpu, stream);
  }
  std::optional<PlaceId> gpu_of_foreign(std::uintptr_t stream) override {
    return streams_.gpu_of_foreign(stream);
  }
  bool is_capturing(StreamHandle stream) override { return streams_.is_capturing(stream); }
  void synchronize(StreamHandle stream) override { streams_.synchronize(stream); }

  EventHandle create_event(PlaceId gpu) override {
    return events_.create(gpu, kEventDisableTiming);
  }
  EventHandle create_timing_event(PlaceId gpu) override {
    return events_.create(gpu, kEventDefault);
  }
  void destroy_event(EventHandle event) override { events_.destroy(event); }
  void record(EventHandle event, StreamHandle stream) override { events_.record(event, stream); }
  void wait(StreamHandle stream, EventHandle event) override { events_.wait(stream, event); }
  bool is_done(EventHandle event) override { return events_.is_done(event); }
  std::optional<Seconds> elapsed(EventHandle begin, EventHandle end) override {
    return events_.elapsed(begin, end);
  }
  void synchronize(EventHandle event) override { events_.synchronize(event); }

  void open_hop(PlaceId source, PlaceId destination, bool pulled) override {
    copies_.open_hop(source, destination, pulled);
  }
  void copy(const CopyRequest& request, StreamHandle stream) override {
    copies_.copy(request, stream);
  }
  void copy_native(const NativeCopy& request, StreamHandle stream) override {
    copies_.copy_native(request, stream);
  }

  void reduce(const CopyRequest& request, const Reduction& reduction,
              StreamHandle stream) override {
    reductions_.reduce(request, reduction, stream);
  }

  KernelHandle load_kernel(PlaceId gpu, const Kernel& kernel) override {
    return kernels_.load(gpu, kernel);
  }
  void unload_kernel(KernelHandle kernel) override { kernels_.unload(kernel); }
  bool kernels_reach(PlaceId gpu, Address address) override { return kernels_.reach(gpu, address); }
  void run(const KernelRequest& request, StreamHandle stream) override {
    kernels_.run(request, stream);
  }

  void write_value(StreamHandle stream, Address address, PlaceId place,
                   std::uint32_t value) override {
    flags_.write_value(stream, address, place, value);
  }
  void wait_value(StreamHandle stream, Address address, PlaceId place,
                  std::uint32_t value) override {
    flags_.wait_value(stream, address, place, value);
  }
  void await_flag(const FlagRequest& flag, StreamHandle stream) override {
    flags_.await(flag, stream);
  }
  void signal(Address address, PlaceId place, std::uint32_t value) override {
    flags_.signal(address, place, value);
  }

  ExportedMemory export_memory(Address address) override { return sharing_.export_memory(address); }
  std::vector<MemoryPart> shareable_parts(Address begin, Bytes bytes) override {
    return sharing_.shareable_parts(begin, bytes);
  }
  ExportedMemory export_range(const std::vector<MemoryPart>& parts) override {
    return sharing_.export_range(parts);
  }
  Address import_memory(const ExportedMemory& memory, PlaceId gpu) override {
    return sharing_.import_memory(memory, gpu);
  }
  void release_import(Address address) override { sharing_.release_import(address); }
  bool release_may_wait(Address address) override { return sharing_.release_may_wait(address); }

  GraphHandle instantiate(const std::vector<GraphNode>& nodes) override {
    return graphs_.instantiate(nodes);
  }
  void update_node(GraphHandle graph, int node, Address destination, Address source) override {
    graphs_.update_node(graph, node, destination, source);
  }
  void update_kernel(GraphHandle graph, int node, const std::vector<Address>& memory) override {
    graphs_.update_kernel(graph, node, memory);
  }
  void launch(GraphHandle graph, StreamHandle stream) override { graphs_.launch(graph, stream); }
  void destroy_graph(GraphHandle graph) override { graphs_.destroy(graph); }

  /// The primary contexts that are used.
  [[nodiscard]] Contexts& contexts() { return contexts_; }
  /// Memory of other processes: find_memory says where it really is, and copies that other contexts
  /// make than the one it was mapped in use mappings of their own.
  [[nodiscard]] static Imports& imports() { return Imports::of_process(); }

 private:
  std::chrono::steady_clock::time_point start_;
  CudaGpus gpus_;
  Contexts contexts_;
  PeerLinks peers_;
  CudaStreams streams_;
  CudaEvents events_;
  CudaMemory memory_;
  CudaSharing sharing_;
  CudaCopies copies_;
  CudaKernels kernels_;
  CudaReductions reductions_;
  CudaFlags flags_;
  CudaGraphs graphs_;
};

}  // namespace polypath::cuda
