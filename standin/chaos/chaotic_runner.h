#pragma once
// Work in real time, in any order that CUDA's rules allow and no kinder one.

#include <mutex>

#include "standin/chaos/copying.h"
#include "standin/chaos/scheduler.h"
#include "standin/state/runner.h"

namespace polypath::standin::chaos {

class ChaoticRunner final : public Runner {
 public:
  ChaoticRunner(const Machine& machine, const StandInSettings& settings);

  Address allocate(PlaceId host, Bytes bytes) override { return memory_.allocate(host, bytes); }
  Address adopt(PlaceId place, Bytes bytes, std::unique_ptr<sim::Backing> backing) override {
    return memory_.adopt(place, bytes, std::move(backing));
  }
  void free(Address base) override;

  StreamHandle create_stream(PlaceId gpu, ContextPointer context, bool by_default) override;
  void destroy_stream(StreamHandle stream) override;
  EventHandle create_event(PlaceId gpu) override;
  void destroy_event(EventHandle event) override { events_.erase(event); }
  Waiting room_in(StreamHandle stream, WorkKind kind) override;
  void record(EventHandle event, StreamHandle stream) override;
  void wait(StreamHandle stream, EventHandle event, WorkKind kind) override;
  void join(StreamHandle later, StreamHandle earlier) override;

  Waiting copy(const MemoryCopy& copy, Returns returns, StreamHandle stream) override;
  Waiting fill(Address destination, Bytes bytes, const std::vector<std::byte>& pattern,
               Returns returns, StreamHandle stream) override;
  void call(std::function<void()> function, StreamHandle stream) override;
  void wait_for_value(const MemoryValue& value, StreamHandle stream) override;
  void write_value(const MemoryValue& value, StreamHandle stream) override;
  bool knows_kernel(const std::string& name) const override;
  void run(const KernelWork& kernel, StreamHandle stream) override;

  GraphHandle instantiate(const std::vector<CopyNode>& nodes) override;
  void update_node(GraphHandle graph, int node, const CopyNode& changed) override;
  void launch(GraphHandle graph, StreamHandle stream) override;
  void destroy_graph(GraphHandle graph) override { graphs_.erase(graph); }

  bool is_done(const std::vector<StreamHandle>& streams) override;
  bool is_done(EventHandle event) override;
  Waiting finish(const std::vector<StreamHandle>& streams) override;
  Waiting finish(EventHandle event) override;
  Waiting finish_context(const std::vector<StreamHandle>& streams, PlaceId gpu) override;
  Waiting finish_before_free(ContextPointer context, PlaceId gpu) override;
  Waiting finish_gpu(PlaceId gpu) override;
  std::optional<Seconds> finished_at(EventHandle event) override;

  void stop() override { scheduler_.stop(); }
  std::vector<std::string> violations() const override;
  std::map<std::string, Moved> moved() const override;

 private:
  struct Graph {
    std::vector<CopyNode> nodes;
    EntryPointer launched;  ///< the newest launch: the next one comes after it
  };
  /// An end of a copy.
  struct End {
    Place place;
    PlaceId where;  ///< not valid where the driver does not know the memory
  };

  [[nodiscard]] End end_of(Address begin, Bytes bytes, const char* what) const;
  std::unique_ptr<CopyJob> make_copy(const MemoryCopy& copy, bool staged, Entry& entry);
  std::unique_ptr<Job> make_job(const CopyNode& node, Entry& entry);
  [[nodiscard]] std::unique_ptr<Job> make_kernel(const KernelWork& kernel) const;
  std::unique_ptr<Job> make_steps(const std::vector<ValueStep>& values) const;
  void count(const std::string& way, Bytes bytes);
  Queue& queue(StreamHandle stream) { return *queues_.at(stream); }
  Waiting enqueue(const EntryPointer& entry, Returns returns, StreamHandle stream);
  Waiting wait_for(std::vector<EntryPointer> entries);

  const Machine& machine_;
  bool statistics_;
  sim::Memory memory_{true};
  Scheduler scheduler_;
  Clock::time_point began_ = Clock::now();
  std::map<StreamHandle, QueuePointer> queues_;
  std::map<EventHandle, EntryPointer> events_;  ///< what each stands for; null before a record
  std::map<GraphHandle, Graph> graphs_;
  /// The entries that frees in a context wait for.
  std::map<ContextPointer, std::vector<EntryPointer>> freeing_;
  std::uintptr_t next_handle_ = 1;
  std::vector<std::string> violations_;
  mutable std::mutex moved_mutex_;  ///< the scheduler's thread counts
  std::map<std::string, Moved> moved_;
};

}  // namespace polypath::standin::chaos
