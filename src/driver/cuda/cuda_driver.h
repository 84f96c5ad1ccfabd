#pragma once
// The Driver interface over libcuda. Handles are CUDA's own pointers, with the GPU in the upper 16
// bits, which user addresses leave free: no table stands between a call and CUDA.
//
// Contexts are the GPUs' primary ones, so that memory and streams of the CUDA runtime, PyTorch or
// CuPy in the same process are at home here. They are made when a GPU is first used. Threads' own
// current contexts stay as they are.

#include <chrono>
#include <map>
#include <memory>
#include <vector>

#include "core/brief_mutex.h"
#include "core/shared_pages.h"
#include "driver/cuda/contexts.h"
#include "driver/cuda/handles.h"
#include "driver/cuda/host_pages.h"
#include "driver/cuda/imports.h"
#include "driver/cuda/mapped_memory.h"
#include "driver/driver.h"
#include "machine/machine.h"

namespace polypath::cuda {

struct Options {
  /// false: never give GPUs access to each other's memory (other parts of the process may).
  bool peer_access = true;
  /// Streams and memory of ours are in contexts of our own (contexts.h): for a driver beside a
  /// program that has streams of its own. Such memory cannot be shared with other processes.
  bool own_contexts = false;
};

/// CUDA's facts about memory beyond its place.
struct MemoryAccess {
  ContextPointer context = nullptr;  ///< in which it was allocated, if in any
  bool shareable = false;            ///< by handles of the old kind: cuMemAlloc made it
};

class CudaDriver final : public Driver {
 public:
  /// The machine's GPU places are the visible GPUs in CUDA's order. Error (unsupported) if the
  /// library is not usable, (invalid_machine) if the machine has more GPUs than there are.
  explicit CudaDriver(const Machine& machine, Options options = {});
  /// Frees nothing that queued work may use: see the members. Does nothing in a forked child.
  ~CudaDriver() override;

  std::string name() const override { return "cuda"; }
  Seconds now() override;
  Address allocate(PlaceId place, Bytes bytes) override;
  Address allocate_zeros(PlaceId place, Bytes bytes) override;
  Address allocate_shareable(PlaceId place, Bytes bytes) override;
  void free(Address address) override;
  Address allocate_staging(PlaceId place, PlaceId writer, Bytes bytes) override;
  std::optional<MemoryInfo> find_memory(Address address) override;
  std::uint64_t memory_id(Address address) override { return id_of_memory(address); }
  /// The same, and in the same call which GPUs may use it; of imported memory nothing is said of
  /// that.
  std::optional<MemoryInfo> find_memory(Address address, MemoryAccess* access);
  StreamHandle create_stream(PlaceId gpu) override;
  void destroy_stream(StreamHandle stream) override;
  StreamHandle foreign_stream(PlaceId gpu, std::uintptr_t stream) override;
  std::optional<PlaceId> gpu_of_foreign(std::uintptr_t stream) override;
  bool is_capturing(StreamHandle stream) override;
  EventHandle create_event(PlaceId gpu) override;
  void destroy_event(EventHandle event) override;
  void record(EventHandle event, StreamHandle stream) override;
  void wait(StreamHandle stream, EventHandle event) override;
  bool is_done(EventHandle event) override;
  EventHandle create_timing_event(PlaceId gpu) override;
  std::optional<Seconds> elapsed(EventHandle begin, EventHandle end) override;
  void open_hop(PlaceId source, PlaceId destination, bool pulled) override;
  void note_lost(PlaceId source, PlaceId destination) override;
  bool is_open(PlaceId place) override;
  bool is_used_by_others(PlaceId gpu) override;
  void copy(const CopyRequest& request, StreamHandle stream) override;
  void copy_native(const NativeCopy& request, StreamHandle stream) override;
  void reduce(const CopyRequest& request, const Reduction& reduction, StreamHandle stream) override;
  KernelHandle load_kernel(PlaceId gpu, const Kernel& kernel) override;
  void unload_kernel(KernelHandle kernel) override;
  bool kernels_reach(PlaceId gpu, Address address) override;
  void run(const KernelRequest& request, StreamHandle stream) override;
  void write_value(StreamHandle stream, Address address, PlaceId place,
                   std::uint32_t value) override;
  void wait_value(StreamHandle stream, Address address, PlaceId place,
                  std::uint32_t value) override;
  void await_flag(const FlagRequest& flag, StreamHandle stream) override;
  void signal(Address address, PlaceId place, std::uint32_t value) override;
  ExportedMemory export_memory(Address address) override;
  Address import_memory(const ExportedMemory& memory, PlaceId gpu) override;
  void release_import(Address address) override;
  GraphHandle instantiate(const std::vector<GraphNode>& nodes) override;
  void update_node(GraphHandle graph, int node, Address destination, Address source) override;
  void update_kernel(GraphHandle graph, int node, const std::vector<Address>& memory) override;
  void launch(GraphHandle graph, StreamHandle stream) override;
  void destroy_graph(GraphHandle graph) override;
  void synchronize(StreamHandle stream) override;
  void synchronize(EventHandle event) override;

  /// The primary contexts that are used.
  [[nodiscard]] Contexts& contexts() { return contexts_; }
  /// Memory of other processes: find_memory says where it really is, and copies that other contexts
  /// make than the one it was mapped in use mappings of their own.
  [[nodiscard]] Imports& imports() { return imports_; }

 private:
  EventHandle create_event(PlaceId gpu, unsigned flags);
  friend class KernelRun;
  struct LoadedIn;
  struct LoadedKernel;
  struct Graph;

  [[nodiscard]] int ordinal(PlaceId gpu) const;
  [[nodiscard]] bool is_gpu(PlaceId place) const;
  [[nodiscard]] PlaceId place_of_gpu(int ordinal) const;
  [[nodiscard]] int gpu_of(std::uintptr_t handle) const;
  [[nodiscard]] ContextPointer context_of(StreamHandle stream);
  [[nodiscard]] ContextPointer context_of(EventHandle event, Event::Kind kind);
  [[nodiscard]] EventPointer made_for(EventHandle event, Event::Kind kind);
  struct Recorded {
    ContextPointer context;
    EventPointer event;
  };
  [[nodiscard]] std::optional<Recorded> recorded(EventHandle event);
  [[nodiscard]] int copying_gpu(const CopyRequest& request) const;
  [[nodiscard]] ContextPointer copying_context(const CopyRequest& request);
  void connect(const CopyRequest& request, int copying_gpu, bool programs);
  void connect(const CopyRequest& request, StreamHandle stream);
  void enqueue(const CopyRequest& request, StreamPointer stream);
  void reach_imports(Graph& graph);
  void add_copy(Graph& graph, const CopyRequest& copy, const std::vector<GraphNodePointer>& after);
  void add_kernel(Graph& graph, const KernelRequest& kernel,
                  const std::vector<GraphNodePointer>& after);
  void add_reduction(Graph& graph, const GraphNode& node,
                     const std::vector<GraphNodePointer>& after);
  void set_memory(Graph& graph, int node, const std::vector<Address>& memory);
  void add_flag(Graph& graph, const FlagRequest& flag, const std::vector<GraphNodePointer>& after);
  [[nodiscard]] Address reach_flag(Address address, PlaceId place, int gpu);
  struct SharedMemory;
  struct SharedHostMemory;
  [[nodiscard]] std::optional<ExportedMemory> export_pages(Address address);
  [[nodiscard]] Address import_device(const ExportedMemory& memory, PlaceId gpu);
  [[nodiscard]] Address import_pages(const ExportedMemory& memory);
  void check_registered(const SharedPages& pages);
  void release_pages(std::unique_ptr<SharedPages> pages);
  [[nodiscard]] int owner_of(const SharedMemory& shared) const;
  [[nodiscard]] Address open(const SharedMemory& shared, int gpu);
  [[nodiscard]] bool forget(Address address, PlaceId& place);
  [[nodiscard]] std::unique_ptr<MappedMemory> map_staging(PlaceId place, PlaceId writer,
                                                          Bytes bytes);
  [[nodiscard]] std::optional<Address> spare_staging(PlaceId place, Bytes bytes);
  [[nodiscard]] bool gave_back_staging(Address address, PlaceId place);
  [[nodiscard]] Address keep(Address address, Bytes bytes, PlaceId place);
  [[nodiscard]] Address allocate_pinned(Bytes bytes);
  void free_pinned(Address address);
  void make_streams(int gpu);
  [[nodiscard]] LoadedIn load(const Kernel& kernel, ContextPointer context) const;
  [[nodiscard]] LoadedIn copy_for(LoadedKernel& loaded, StreamHandle stream);
  [[nodiscard]] LoadedKernel& kernel_of(const KernelRequest& request) const;
  void connect_memory(const KernelRequest& request);
  [[nodiscard]] KernelHandle reduce_kernel_of(PlaceId gpu);
  [[nodiscard]] KernelHandle await_kernel_of(PlaceId gpu);
  [[nodiscard]] KernelRequest reduce_request(const CopyRequest& request,
                                             const Reduction& reduction);
  Graph& graph_of(GraphHandle handle);

  const Functions& cuda_;
  std::chrono::steady_clock::time_point start_;
  std::vector<int> ordinals_;  ///< by place; -1 for hosts
  std::vector<PlaceId> gpus_;  ///< by ordinal
  PlaceId host_;
  Contexts contexts_;
  Imports& imports_ = Imports::of_process();
  BriefMutex mutex_;
  std::map<Address, PlaceId> allocations_;
  std::map<Address, std::unique_ptr<HostPages>> host_pages_;         ///< of registered memory
  std::map<Address, std::unique_ptr<SharedPages>> shared_pages_;     ///< the same, for others too
  std::map<Address, std::unique_ptr<SharedPages>> opened_pages_;     ///< and of others
  std::map<Address, std::unique_ptr<MappedMemory>> mapped_;          ///< staging memory of GPUs
  std::map<Address, Bytes> staging_;                                 ///< other staging memory
  std::multimap<std::pair<PlaceId, Bytes>, Address> spare_staging_;  ///< the unused part of it
  std::map<int, std::vector<StreamPointer>> spare_streams_;          ///< by GPU
  std::map<PlaceId, KernelHandle> reduce_kernels_, await_kernels_;
  std::multimap<Address, Address> opened_;  ///< addresses of imports, and where each was mapped
};

}  // namespace polypath::cuda
