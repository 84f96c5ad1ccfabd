#include "bench/collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "bench/available_memory.h"
#include "bench/collective_memory.h"
#include "bench/repetitions.h"
#include "collective/program/collective_kernels.h"
#include "collective/rank/collective_run.h"
#include "core/error.h"
#include "core/text.h"
#include "machine/nodes.h"

namespace polypath::bench {
namespace {

constexpr double kSecondsOfRound = 0.01;
constexpr int kMostRuns = 200;

// The ranks on the machine as if nothing had been done on it.
class Group {
 public:
  Group(const OpenMachine& opened, const CollectiveRequest& request, const sim::Options& simulation)
      : opened_(opened.reopen(simulation)),
        request_(request),
        stream_(driver().create_stream(gpu())),
        memory_(std::make_unique<CollectiveMemory>(driver(), opened_.machine(), request_, stream_)),
        runner_(std::make_unique<CollectiveRun>(driver(), opened_.machine(), opened_.settings())) {}
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  ~Group() { give_back(); }

  /// Of one of `runs` that are queued one after another.
  Seconds run(const CollectiveProgram& program, int runs = 1) {
    const Seconds start = driver().now();
    for (int i = 0; i < runs; ++i) runner_->run(program, memory_->addresses(), stream_, gpu());
    driver().synchronize(stream_);
    return {(driver().now() - start).value / runs};
  }

  CollectiveMemory& memory() { return *memory_; }

  // True if the driver has found nothing wrong, leaks included.
  bool close() {
    give_back();
    const sim::SimDriver* const simulator = opened_.simulator();
    return simulator == nullptr || (simulator->violations().empty() && simulator->leaks().empty());
  }

 private:
  [[nodiscard]] Driver& driver() const { return opened_.driver(); }
  [[nodiscard]] PlaceId gpu() const { return request_.ranks.front(); }

  void give_back() {
    if (!memory_) return;
    runner_.reset();
    memory_.reset();
    driver().destroy_stream(stream_);
  }

  OpenMachine opened_;
  CollectiveRequest request_;
  StreamHandle stream_;
  std::unique_ptr<CollectiveMemory> memory_;
  std::unique_ptr<CollectiveRun> runner_;
};

// Of which the median counts: one in a simulation, which repeats exactly, else rounds of many.
std::vector<Seconds> times_of(const OpenMachine& opened, const CollectivePlan& plan) {
  Group group(opened, plan.request, sim::kTimingOnly);
  group.run(*plan.program);  // makes streams, scratch memory and graph
  const Seconds second = group.run(*plan.program);
  if (opened.simulated()) return {second};
  const int runs = std::clamp(static_cast<int>(kSecondsOfRound / second.value), 1, kMostRuns);
  std::vector<Seconds> rounds;
  for (int round = 0; round < kTimedRounds; ++round)
    rounds.push_back(group.run(*plan.program, runs));
  return rounds;
}

bool verified_run(const OpenMachine& opened, const CollectiveRequest& request,
                  const CollectiveProgram& program) {
  Group group(opened, request, {.flip = opened.simulation().flip});
  for (int run = 0; run < 2; ++run) {
    group.memory().fill();
    group.run(program);
    if (!group.memory().is_right()) return false;
  }
  return group.close();
}

// Of all ranks, their results on the host included.
Bytes memory_of(const CollectiveRequest& request) {
  Bytes sum;
  for (int rank = 0; rank < request.size(); ++rank) {
    const Bytes in = input_bytes(request, rank), out = output_bytes(request, rank);
    sum += (request.in_place ? std::max(in, out) : in + out) + out;
  }
  return sum;
}

// Verifying takes several times the ranks' own memory in addition.
Bytes part_of_this_computer() { return {memory_of_this_computer().value / 16}; }

// GPUs have room for what they are asked for.
CollectiveRequest that_fits(const OpenMachine& opened, CollectiveRequest request, Bytes limit) {
  while (opened.simulated() && request.elements > 1 && memory_of(request) > limit)
    request.elements = (request.elements + 1) / 2;
  return request;
}

struct Verification {
  bool verified = false;
  Bytes bytes;
};

Verification verify(const OpenMachine& opened, const CollectivePlan& plan, Bytes limit) {
  const CollectiveRequest request = that_fits(opened, plan.request, limit);
  const Bytes bytes = message_bytes(request);
  if (request.elements == plan.request.elements)
    return {verified_run(opened, request, *plan.program), bytes};
  const CollectiveDraft& draft = plan.chosen();
  Routes routes(opened.machine(), with_collective_slots(opened.settings(), opened.machine()));
  const CollectiveProgram program(
      build(*draft.algorithm, opened.machine(), request, draft.tuning, &routes), draft.executor);
  return {verified_run(opened, request, program), bytes};
}

// All results of one size. Identical programs of two algorithms are measured once.
class SizeRun {
 public:
  SizeRun(const OpenMachine& opened, const CollectiveBench& bench, CollectivePlanner& planner,
          Bytes bytes)
      : opened_(opened),
        bench_(bench),
        planner_(planner),
        request_(collective_request(opened.machine(), bench, bytes)) {}

  CollectiveResult measure(const std::string& algorithm) {
    CollectiveOptions options{.executor = bench_.executor,
                              .paths = bench_.paths,
                              .any_order = bench_.any_order,
                              .kernels = has_collective_kernels(opened_.driver())};
    if (algorithm != kAutomatic) options.algorithms = {algorithm};
    const CollectivePlan plan = planner_.plan(request_, options);
    const auto key = std::pair(plan.program->structure, plan.program->executor);
    const auto [known, is_new] = measured_.try_emplace(key);
    if (is_new) {
      known->second.times = times_of(opened_, plan);
      if (bench_.verify)
        known->second.verification =
            verify(opened_, plan, bench_.memory_limit.value_or(part_of_this_computer()));
    }
    return {.algorithm = algorithm,
            .draft = plan.chosen(),
            .request = request_,
            .seconds = {spread_of(in_seconds(known->second.times)).median},
            .repetitions = repetitions_of(known->second.times),
            .verified = known->second.verification.verified,
            .verified_bytes = known->second.verification.bytes};
  }

 private:
  struct Measured {
    std::vector<Seconds> times;
    Verification verification;
  };

  [[nodiscard]] Repetitions repetitions_of(const std::vector<Seconds>& times) const {
    return {.times = opened_.simulated() ? std::vector<Seconds>() : times, .native_times = {}};
  }

  const OpenMachine& opened_;
  const CollectiveBench& bench_;
  CollectivePlanner& planner_;
  CollectiveRequest request_;
  std::map<std::pair<std::string, Executor>, Measured> measured_;
};

}  // namespace

ChosenMachine choose_machine(const CollectiveBench& bench) {
  ChosenMachine chosen = context::choose_machine(bench.machine, bench.settings);
  if (!bench.nodes) return chosen;
  if (!chosen.simulated)
    fail(ErrorCode::unsupported, fmt::format("{} nodes cannot be measured", *bench.nodes),
         "this computer is one node", "Name a machine to simulate: --machine mist.");
  chosen.machine = machine_of_nodes(chosen.machine, *bench.nodes);
  return chosen;
}

CollectiveRequest collective_request(const Machine& machine, const CollectiveBench& bench,
                                     Bytes message) {
  CollectiveRequest request = bench.request;
  request.ranks = machine.places_of(PlaceKind::gpu);
  const int gpus = request.size(), ranks = bench.ranks.value_or(gpus);
  if (ranks > gpus)
    fail(ErrorCode::invalid_argument, fmt::format("{} ranks cannot be had", ranks),
         fmt::format("{} has {} GPUs", machine.name, gpus), "Ask for fewer.");
  request.ranks.resize(static_cast<std::size_t>(std::max(ranks, 0)));
  request.elements = 1;
  check(machine, request);
  check_measurable(message);
  return with_message(std::move(request), message);
}

std::vector<CollectiveResult> measure_collectives(const OpenMachine& opened,
                                                  const CollectiveBench& bench,
                                                  const Progress& progress) {
  for (const std::string& name : bench.algorithms)
    if (name != kAutomatic) (void)find_algorithm(name);
  // All of them before the first one is measured: the large ones come last, after a minute.
  for (const Bytes bytes : bench.sizes) (void)collective_request(opened.machine(), bench, bytes);
  CollectivePlanner planner(opened.machine(), bench.settings);
  std::vector<CollectiveResult> results;
  const auto all = static_cast<int>(bench.sizes.size() * bench.algorithms.size());
  for (const Bytes bytes : bench.sizes) {
    SizeRun size(opened, bench, planner, bytes);
    for (const std::string& algorithm : bench.algorithms) {
      results.push_back(size.measure(algorithm));
      if (progress) progress(static_cast<int>(results.size()), all);
    }
  }
  return results;
}

}  // namespace polypath::bench
