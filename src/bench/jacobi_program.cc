#include "bench/jacobi_program.h"

#include <algorithm>
#include <optional>

#include "bench/jacobi_kernels.h"
#include "collective/choose/predicted_time.h"
#include "collective/program/composer.h"
#include "collective/program/tuning.h"
#include "core/ignore_errors.h"
#include "engine/execute/graph_executor.h"
#include "engine/execute/hops.h"
#include "engine/execute/transfer.h"

namespace polypath::bench {
namespace {

constexpr int kIterations = 2;  // of a program

// A program and the findings about it.
struct PredictedProgram {
  Program program;
  JacobiShape shape;
};

class Builder {
 public:
  Builder(const Machine& machine, const JacobiGrid& grid, double efficiency, Composer& composer)
      : machine_(machine), grid_(grid), efficiency_(efficiency), composer_(composer) {}

  void iterate(int iteration, bool overlapped) {
    if (!overlapped) {
      compute(iteration, 1, grid_.rows);
      return exchange(iteration);
    }
    compute(iteration, 1, 1);
    compute(iteration, grid_.rows, 1);
    exchange(iteration);
    compute(iteration, 2, grid_.rows - 2);
  }

 private:
  void compute(int iteration, std::uint64_t first, std::uint64_t rows) {
    for (int gpu = 0; gpu < grid_.size(); ++gpu)
      composer_.run(kernel_of(machine_, grid_, efficiency_, gpu, iteration, first, rows));
  }

  void exchange(int iteration) {
    std::vector<Message> messages;
    for (const Halo& halo : halos_of(grid_, 1 - iteration % 2))
      messages.push_back({halo.source, halo.destination, grid_.halo()});
    composer_.send(std::move(messages));
  }

  const Machine& machine_;
  const JacobiGrid& grid_;
  double efficiency_;
  Composer& composer_;
};

// Of two rows and fewer none is between those that neighbours wait for.
std::vector<JacobiLayout> layouts_of(const JacobiGrid& grid) {
  std::vector<JacobiLayout> layouts = {{}, {.several_paths = true}};
  if (grid.rows > 2) layouts.insert(layouts.end(), {{.overlapped = true}, {true, true}});
  return layouts;
}

PredictedProgram predicted_program(const OpenMachine& opened, const JacobiGrid& grid,
                                   const JacobiHow& how, JacobiLayout layout, Routes& routes) {
  Program program = jacobi_program(opened.machine(), grid, how.efficiency, layout, routes);
  HopRates rates(opened.machine());
  const Seconds predicted =
      predicted_time(opened.machine(), rates, program, Executor::graph, grid.gpus.front());
  const std::size_t nodes = program.nodes().size();
  return {
      .program = std::move(program),
      .shape = {layout.overlapped, layout.several_paths, nodes, {predicted.value / kIterations}}};
}

PredictedProgram best_of(const OpenMachine& opened, const JacobiGrid& grid, const JacobiHow& how) {
  Routes routes(opened.machine(), with_collective_slots(opened.settings(), opened.machine()));
  std::optional<PredictedProgram> best;
  for (const JacobiLayout layout : layouts_of(grid)) {
    PredictedProgram program = predicted_program(opened, grid, how, layout, routes);
    if (!best || program.shape.predicted < best->shape.predicted) best = std::move(program);
  }
  return std::move(*best);
}

class JacobiProgram final : public JacobiSolver {
 public:
  JacobiProgram(const OpenMachine& opened, const JacobiGrid& grid, const JacobiMemory& memory,
                const JacobiHow& how)
      : driver_(opened.driver()),
        gpu_(grid.gpus.front()),
        settings_(with_collective_slots(opened.settings(), opened.machine())),
        memory_(memory),
        best_(best_of(opened, grid, how)),
        structure_(structure_of(best_.program)),
        kernels_(driver_, opened.machine(), grid),
        hops_(driver_, opened.machine(), settings_),
        graphs_(driver_, hops_, settings_, statistics_),
        stream_(driver_.create_stream(gpu_)) {}
  ~JacobiProgram() override {
    ignore_errors([&] { driver_.synchronize(stream_); });
    ignore_errors([&] { driver_.destroy_stream(stream_); });
  }

  void iterate(int iterations) override {
    const Transfer transfer{.program = &best_.program,
                            .structure = structure_,
                            .buffers = memory_.addresses(),
                            .stream = stream_,
                            .stream_gpu = gpu_,
                            .id = ++runs_,
                            .kernels = kernels_.handles()};
    for (int i = 0; i < iterations; i += kIterations) {
      graphs_.prepare(transfer);
      graphs_.run(transfer);
    }
  }

  void wait() override { driver_.synchronize(stream_); }
  [[nodiscard]] const JacobiShape* shape() const override { return &best_.shape; }

 private:
  Driver& driver_;
  PlaceId gpu_;
  Settings settings_;
  const JacobiMemory& memory_;
  PredictedProgram best_;
  std::string structure_;
  JacobiKernels kernels_;
  Hops hops_;
  Statistics statistics_;
  GraphExecutor graphs_;
  StreamHandle stream_;
  std::uint64_t runs_ = 0;
};

}  // namespace

Program jacobi_program(const Machine& machine, const JacobiGrid& grid, double efficiency,
                       JacobiLayout layout, Routes& routes) {
  CollectiveRequest request;  // for its ranks, whose memories the buffers are
  request.ranks = grid.gpus;
  request.in_place = true;
  const Tuning tuning{.several_paths = layout.several_paths, .by_joint_plan = true};
  Composer composer(machine, request, tuning, &routes);
  Builder builder(machine, grid, efficiency, composer);
  for (int iteration = 0; iteration < kIterations; ++iteration)
    builder.iterate(iteration, layout.overlapped);
  return std::move(composer).build();
}

std::unique_ptr<JacobiSolver> make_jacobi_program(const OpenMachine& opened, const JacobiGrid& grid,
                                                  const JacobiMemory& memory,
                                                  const JacobiHow& how) {
  return std::make_unique<JacobiProgram>(opened, grid, memory, how);
}

}  // namespace polypath::bench
