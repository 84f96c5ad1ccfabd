#pragma once
// A driver that hands every call on to another one, for drivers that add something to some of them.

#include "driver/driver.h"

namespace polypath::driver {

class ForwardingDriver : public Driver {
 public:
  /// The other one must outlive it.
  explicit ForwardingDriver(Driver& real) : real_(real) {}

  std::string name() const override { return real_.name(); }
  std::string simulation() const override { return real_.simulation(); }
  Seconds now() override { return real_.now(); }
  Address allocate(PlaceId place, Bytes bytes) override { return real_.allocate(place, bytes); }
  Address allocate_zeros(PlaceId place, Bytes bytes) override {
    return real_.allocate_zeros(place, bytes);
  }
  Address allocate_staging(PlaceId place, const StagingUsers& users, Bytes bytes) override {
    return real_.allocate_staging(place, users, bytes);
  }
  Address allocate_shareable(PlaceId place, Bytes bytes) override {
    return real_.allocate_shareable(place, bytes);
  }
  void free(Address address) override { real_.free(address); }
  std::optional<MemoryInfo> find_memory(Address address) override {
    return real_.find_memory(address);
  }
  std::uint64_t memory_id(Address address) override { return real_.memory_id(address); }
  StreamHandle create_stream(PlaceId gpu) override { return real_.create_stream(gpu); }
  void destroy_stream(StreamHandle stream) override { real_.destroy_stream(stream); }
  StreamHandle foreign_stream(PlaceId gpu, std::uintptr_t stream) override {
    return real_.foreign_stream(gpu, stream);
  }
  std::optional<PlaceId> gpu_of_foreign(std::uintptr_t stream) override {
    return real_.gpu_of_foreign(stream);
  }
  bool is_capturing(StreamHandle stream) override { return real_.is_capturing(stream); }
  EventHandle create_event(PlaceId gpu) override { return real_.create_event(gpu); }
  void destroy_event(EventHandle event) override { real_.destroy_event(event); }
  void record(EventHandle event, StreamHandle stream) override { real_.record(event, stream); }
  void wait(StreamHandle stream, EventHandle event) override { real_.wait(stream, event); }
  bool is_done(EventHandle event) override { return real_.is_done(event); }
  EventHandle create_timing_event(PlaceId gpu) override { return real_.create_timing_event(gpu); }
  std::optional<Seconds> elapsed(EventHandle begin, EventHandle end) override {
    return real_.elapsed(begin, end);
  }
  void copy(const CopyRequest& request, StreamHandle stream) override {
    real_.copy(request, stream);
  }
  Seconds copy_by_threads(const std::vector<Enqueued>& copies) override {
    return real_.copy_by_threads(copies);
  }
  void reduce(const CopyRequest& request, const Reduction& reduction,
              StreamHandle stream) override {
    real_.reduce(request, reduction, stream);
  }
  void copy_native(const NativeCopy& request, StreamHandle stream) override {
    real_.copy_native(request, stream);
  }
  KernelHandle load_kernel(PlaceId gpu, const Kernel& kernel) override {
    return real_.load_kernel(gpu, kernel);
  }
  void unload_kernel(KernelHandle kernel) override { real_.unload_kernel(kernel); }
  bool kernels_reach(PlaceId gpu, Address address) override {
    return real_.kernels_reach(gpu, address);
  }
  void run(const KernelRequest& request, StreamHandle stream) override {
    real_.run(request, stream);
  }
  void write_value(StreamHandle stream, Address address, PlaceId place,
                   std::uint32_t value) override {
    real_.write_value(stream, address, place, value);
  }
  void wait_value(StreamHandle stream, Address address, PlaceId place,
                  std::uint32_t value) override {
    real_.wait_value(stream, address, place, value);
  }
  void signal(Address address, PlaceId place, std::uint32_t value) override {
    real_.signal(address, place, value);
  }
  ExportedMemory export_memory(Address address) override { return real_.export_memory(address); }
  std::vector<MemoryPart> shareable_parts(Address begin, Bytes bytes) override {
    return real_.shareable_parts(begin, bytes);
  }
  ExportedMemory export_range(const std::vector<MemoryPart>& parts) override {
    return real_.export_range(parts);
  }
  Address import_memory(const ExportedMemory& memory, PlaceId gpu) override {
    return real_.import_memory(memory, gpu);
  }
  void release_import(Address address) override { real_.release_import(address); }
  bool release_may_wait(Address address) override { return real_.release_may_wait(address); }
  GraphHandle instantiate(const std::vector<GraphNode>& nodes) override {
    return real_.instantiate(nodes);
  }
  void update_node(GraphHandle graph, int node, Address destination, Address source) override {
    real_.update_node(graph, node, destination, source);
  }
  void update_kernel(GraphHandle graph, int node, const std::vector<Address>& memory) override {
    real_.update_kernel(graph, node, memory);
  }
  void launch(GraphHandle graph, StreamHandle stream) override { real_.launch(graph, stream); }
  void destroy_graph(GraphHandle graph) override { real_.destroy_graph(graph); }
  void open_hop(PlaceId source, PlaceId destination, bool pulled) override {
    real_.open_hop(source, destination, pulled);
  }
  void note_lost(PlaceId source, PlaceId destination) override {
    real_.note_lost(source, destination);
  }
  bool is_open(PlaceId place) override { return real_.is_open(place); }
  bool is_used_by_others(PlaceId gpu) override { return real_.is_used_by_others(gpu); }
  void synchronize(StreamHandle stream) override { real_.synchronize(stream); }
  void synchronize(EventHandle event) override { real_.synchronize(event); }

 private:
  Driver& real_;
};

}  // namespace polypath::driver
