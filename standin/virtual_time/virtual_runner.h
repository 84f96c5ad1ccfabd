#pragma once
// Work in virtual time, over the simulated driver: it runs when a call waits for it or queries it,
// and missing order is reported as a race. Functions of the program run once the work before them
// in their stream has finished, and calls that use the stream wait for them.

#include "driver/sim/sim_driver.h"
#include "standin/state/runner.h"
#include "standin/virtual_time/host_functions.h"

namespace polypath::standin {

class VirtualRunner final : public Runner {
 public:
  VirtualRunner(const Machine& machine, bool statistics);

  Address allocate(PlaceId host, Bytes bytes) override { return driver_.allocate(host, bytes); }
  Address adopt(PlaceId place, Bytes bytes, std::unique_ptr<sim::Backing> backing) override {
    return driver_.adopt(place, bytes, std::move(backing));
  }
  void free(Address base) override { driver_.free(base); }

  StreamHandle create_stream(PlaceId gpu, ContextPointer context, bool by_default) override;
  void destroy_stream(StreamHandle stream) override;
  EventHandle create_event(PlaceId gpu) override;
  void destroy_event(EventHandle event) override;
  Waiting room_in(StreamHandle stream, WorkKind kind) override;
  void record(EventHandle event, StreamHandle stream) override { driver_.record(event, stream); }
  void wait(StreamHandle stream, EventHandle event, WorkKind) override {
    driver_.wait(stream, event);
  }
  void join(StreamHandle later, StreamHandle earlier) override;

  Waiting copy(const MemoryCopy& copy, Returns returns, StreamHandle stream) override;
  Waiting fill(Address destination, Bytes bytes, const std::vector<std::byte>& pattern,
               Returns returns, StreamHandle stream) override;
  void call(std::function<void()> function, StreamHandle stream) override;
  void wait_for_value(const MemoryValue&, StreamHandle) override { refuse_values(); }
  void write_value(const MemoryValue&, StreamHandle) override { refuse_values(); }
  bool knows_kernel(const std::string&) const override { return false; }
  void run(const KernelWork&, StreamHandle) override { refuse_values(); }

  GraphHandle instantiate(const std::vector<CopyNode>& nodes) override;
  void update_node(GraphHandle graph, int node, const CopyNode& copy) override;
  void launch(GraphHandle graph, StreamHandle stream) override { driver_.launch(graph, stream); }
  void destroy_graph(GraphHandle graph) override { driver_.destroy_graph(graph); }

  bool is_done(const std::vector<StreamHandle>& streams) override;
  bool is_done(EventHandle event) override;
  Waiting finish(const std::vector<StreamHandle>& streams) override;
  Waiting finish(EventHandle event) override;
  Waiting finish_context(const std::vector<StreamHandle>& streams, PlaceId) override {
    return finish(streams);
  }
  /// Memory in use is reported, not waited for.
  Waiting finish_before_free(ContextPointer, PlaceId) override { return {}; }
  Waiting finish_gpu(PlaceId) override { return {}; }
  std::optional<Seconds> finished_at(EventHandle event) override {
    return driver_.finished_at(event);
  }

  void stop() override {}  // nothing runs by itself
  std::vector<std::string> violations() const override { return driver_.violations(); }
  std::map<std::string, Moved> moved() const override;

 private:
  [[nodiscard]] GraphNode request(const CopyNode& node);
  [[noreturn]] static void refuse_values();
  Waiting finish_functions(StreamHandle stream);
  void finish_if(Returns returns, StreamHandle stream);
  bool answer(bool done);

  sim::SimDriver driver_;
  HostFunctions functions_;
  std::map<StreamHandle, EventHandle> marks_;  ///< to ask and to wait for what is in a stream now
  std::map<EventHandle, PlaceId> gpus_;        ///< of the events
  Seconds patience_;
};

}  // namespace polypath::standin
