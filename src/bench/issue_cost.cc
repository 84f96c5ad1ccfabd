#include "bench/issue_cost.h"

#include "bench/measure_gpus.h"
#include "core/error.h"
#include "core/median.h"

namespace polypath::bench {
namespace {

// Two buffers at each end, so that a graph can be given new addresses.
class Ends {
 public:
  Ends(const Machine& machine, Driver& driver, const Lane& lane, Bytes bytes)
      : driver_(driver),
        lane_(lane),
        bytes_(bytes),
        gpu_(machine.place(lane.source).kind == PlaceKind::gpu ? lane.source : lane.destination),
        stream_(driver.create_stream(gpu_)) {
    for (int i = 0; i < 2; ++i) {
      sources_.push_back(driver.allocate(lane.source, bytes));
      destinations_.push_back(driver.allocate(lane.destination, bytes));
    }
  }
  Ends(const Ends&) = delete;
  Ends& operator=(const Ends&) = delete;
  ~Ends() {
    for (const auto& all : {sources_, destinations_})
      for (const Address address : all) driver_.free(address);
    driver_.destroy_stream(stream_);
  }

  /// The time in `call`, made with the stream idle.
  template <class Call>
  Seconds time(Call call) {
    const Seconds start = driver_.now();
    call();
    const Seconds end = driver_.now();
    driver_.synchronize(stream_);
    return end - start;
  }

  [[nodiscard]] CopyCall call(std::size_t which, std::optional<Executor> executor) const {
    CopyCall call{.destination = destinations_[which],
                  .source = sources_[which],
                  .bytes = bytes_,
                  .stream = stream_,
                  .stream_gpu = gpu_};
    call.options.executor = executor;
    return call;
  }

  void copy_by_driver() {
    driver_.copy_native({.destination = destinations_[0],
                         .source = sources_[0],
                         .bytes = bytes_,
                         .destination_place = lane_.destination,
                         .source_place = lane_.source},
                        stream_);
  }

 private:
  Driver& driver_;
  Lane lane_;
  Bytes bytes_;
  PlaceId gpu_;
  StreamHandle stream_;
  std::vector<Address> sources_, destinations_;
};

template <class Call>
Seconds median_of(Ends& ends, int repeats, Call call) {
  for (int i = 0; i < 4; ++i) ends.time([&] { call(i); });
  std::vector<double> times;
  for (int i = 0; i < repeats; ++i) times.push_back(ends.time([&] { call(i); }).value);
  return {median(times)};
}

int nodes_of(const CopyResult& result) {
  return result.plan && result.executor != Executor::native
             ? static_cast<int>(result.plan->program.nodes().size())
             : 1;
}

void measure_size(Engine& engine, Ends& ends, Bytes bytes, int repeats,
                  std::vector<IssueCost>& costs) {
  costs.push_back(
      {bytes, "driver", median_of(ends, repeats, [&](int) { ends.copy_by_driver(); }), 1});
  const auto add = [&](const char* how, std::optional<Executor> executor, bool alternate) {
    CopyResult last;
    const Seconds call = median_of(ends, repeats, [&](int i) {
      last = engine.copy(ends.call(alternate ? static_cast<std::size_t>(i % 2) : 0, executor));
    });
    costs.push_back({bytes, how, call, nodes_of(last)});
  };
  add("native", Executor::native, false);
  add("automatic", std::nullopt, false);
  add("stream", Executor::stream, false);
  add("graph", Executor::graph, false);
  add("graph, new addresses", Executor::graph, true);
}

}  // namespace

std::vector<IssueCost> measure_issue(const OpenMachine& opened, const Request& request) {
  if (opened.simulated())
    fail(ErrorCode::unsupported, "issue costs cannot be measured here", "there are no GPUs",
         "Run it where there are.");
  const auto [source, destination] =
      opened.machine().find_ends(request.source, request.destination);
  Engine engine = opened.make_engine();
  std::vector<IssueCost> costs;
  for (const Bytes bytes : request.sizes) {
    Ends ends(opened.machine(), opened.driver(), {source, destination}, bytes);
    measure_size(engine, ends, bytes, request.repeats, costs);
  }
  return costs;
}

}  // namespace polypath::bench
