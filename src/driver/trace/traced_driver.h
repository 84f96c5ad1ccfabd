#pragma once
// A driver that makes every call on another one, and records the work put into streams. It is there
// only if a trace is wanted: else nothing stands between a call and the driver.

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "driver/forwarding_driver.h"
#include "driver/trace/recorder.h"

namespace polypath::trace {

class TracedDriver final : public ForwardingDriver {
 public:
  /// The recorder must outlive it.
  TracedDriver(std::shared_ptr<Driver> driver, Recorder& recorder)
      : ForwardingDriver(*driver),
        driver_(std::move(driver)),
        recorder_(recorder),
        group_(recorder.new_group()) {}

  void copy(const CopyRequest& request, StreamHandle stream) override;
  void copy_native(const NativeCopy& request, StreamHandle stream) override;
  void reduce(const CopyRequest& request, const Reduction& reduction, StreamHandle stream) override;
  void run(const KernelRequest& request, StreamHandle stream) override;
  GraphHandle instantiate(const std::vector<GraphNode>& nodes) override;
  void launch(GraphHandle graph, StreamHandle stream) override;
  void destroy_graph(GraphHandle graph) override;

  StreamHandle create_stream(PlaceId gpu) override;
  void destroy_stream(StreamHandle stream) override;
  StreamHandle foreign_stream(PlaceId gpu, std::uintptr_t stream) override;
  void destroy_event(EventHandle event) override;
  void record(EventHandle event, StreamHandle stream) override;
  void wait(StreamHandle stream, EventHandle event) override;

 private:
  template <class Call>
  void around(const Work& work, StreamHandle stream, Call call);

  std::shared_ptr<Driver> driver_;
  Recorder& recorder_;
  int group_;
  std::mutex mutex_;
  std::map<GraphHandle, Work> graphs_;
};

}  // namespace polypath::trace
