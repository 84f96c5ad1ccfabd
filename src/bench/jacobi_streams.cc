// A GPU's kernel of an iteration starts when all data that it reads has arrived, and when the
// memory that it writes has been sent: after the copies into its halos, which are those of its
// neighbours, and after its own. A copy into a neighbour's halo comes after that neighbour's kernel
// of the iteration before, which read it: after that kernel the neighbour sent the halo that this
// GPU's kernel has waited for.

#include "bench/jacobi_streams.h"

#include <memory>

#include "bench/jacobi_choice.h"
#include "bench/jacobi_kernels.h"
#include "core/ignore_errors.h"
#include "engine/engine.h"

namespace polypath::bench {
namespace {

// A stream with an event that stands for all of an iteration in it.
struct Line {
  StreamHandle stream;
  EventHandle ended;
};

// The streams of each GPU. Those that halos go up and down in are the same where `apart` is false.
class JacobiLines {
 public:
  JacobiLines(Driver& driver, const std::vector<PlaceId>& gpus, bool apart)
      : driver_(driver), apart_(apart) {
    for (const PlaceId gpu : gpus) {
      up_.push_back({driver.create_stream(gpu), driver.create_event(gpu)});
      between_.push_back(driver.create_event(gpu));
      down_.push_back(apart ? Line{driver.create_stream(gpu), driver.create_event(gpu)}
                            : up_.back());
    }
  }
  JacobiLines(const JacobiLines&) = delete;
  JacobiLines& operator=(const JacobiLines&) = delete;
  ~JacobiLines() {
    for (std::size_t gpu = 0; gpu < up_.size(); ++gpu) ignore_errors([&] { give_back(gpu); });
  }

  [[nodiscard]] std::size_t size() const { return up_.size(); }
  [[nodiscard]] const Line& up(int gpu) const { return up_[static_cast<std::size_t>(gpu)]; }
  [[nodiscard]] const Line& down(int gpu) const { return down_[static_cast<std::size_t>(gpu)]; }
  /// Of the kernel and copies down, or of both phases.
  [[nodiscard]] EventHandle between(int gpu) const {
    return between_[static_cast<std::size_t>(gpu)];
  }

  void record_ends() {
    for (std::size_t gpu = 0; gpu < up_.size(); ++gpu) {
      driver_.record(up_[gpu].ended, up_[gpu].stream);
      if (apart_) driver_.record(down_[gpu].ended, down_[gpu].stream);
    }
  }
  void synchronize() {
    for (std::size_t gpu = 0; gpu < up_.size(); ++gpu) {
      driver_.synchronize(up_[gpu].stream);
      if (apart_) driver_.synchronize(down_[gpu].stream);
    }
  }

 private:
  void give_back(std::size_t gpu) {
    driver_.destroy_event(up_[gpu].ended);
    driver_.destroy_event(between_[gpu]);
    driver_.destroy_stream(up_[gpu].stream);
    if (!apart_) return;
    driver_.destroy_event(down_[gpu].ended);
    driver_.destroy_stream(down_[gpu].stream);
  }

  Driver& driver_;
  bool apart_;
  std::vector<Line> up_, down_;
  std::vector<EventHandle> between_;
};

// An engine cannot be moved.
struct Planned {
  explicit Planned(const OpenMachine& opened) : engine(opened.make_engine()) {}
  Engine engine;
};

class JacobiStreams final : public JacobiSolver {
 public:
  JacobiStreams(const OpenMachine& opened, const JacobiGrid& grid, const JacobiMemory& memory,
                const JacobiHow& how)
      : driver_(opened.driver()),
        machine_(opened.machine()),
        grid_(grid),
        memory_(memory),
        how_(how),
        together_(how.way != JacobiWay::native && how.paths == JacobiPaths::automatic &&
                  together_gains(opened, grid, how.efficiency)),
        in_phases_(how.paths == JacobiPaths::two || how.paths == JacobiPaths::three),
        kernels_(driver_, machine_, grid) {
    if (how.way != JacobiWay::native) planned_ = std::make_unique<Planned>(opened);
    lines_ = std::make_unique<JacobiLines>(driver_, grid.gpus, together_);
    calls_[0] = calls_of(0), calls_[1] = calls_of(1);
    lines_->record_ends();  // the first iteration waits for them, too
  }
  ~JacobiStreams() override {
    ignore_errors([&] { wait(); });
    planned_.reset();
  }

  void iterate(int iterations) override {
    for (int iteration = 0; iteration < iterations; ++iteration) {
      for (int gpu = 0; gpu < grid_.size(); ++gpu) compute(gpu, iteration);
      exchange(1 - iteration % 2);
      lines_->record_ends();
    }
  }

  void wait() override { lines_->synchronize(); }

 private:
  static std::size_t index(int gpu) { return static_cast<std::size_t>(gpu); }

  void compute(int gpu, int iteration) {
    const StreamHandle stream = lines_->up(gpu).stream;
    driver_.wait(stream, lines_->up(grid_.below(gpu)).ended);
    driver_.wait(stream, lines_->down(grid_.above(gpu)).ended);
    if (together_) driver_.wait(stream, lines_->down(gpu).ended);
    const KernelCall call =
        kernel_of(machine_, grid_, how_.efficiency, gpu, iteration, 1, grid_.rows);
    KernelRequest request{.kernel = kernels_.of(call.gpu),
                          .gpu = call.gpu,
                          .memory = {},
                          .values = call.values,
                          .shape = call.shape,
                          .duration = call.duration};
    for (const Access& access : call.memory)
      request.memory.push_back(
          {memory_.address(access.slice), call.gpu, access.bytes, access.writes});
    driver_.run(request, stream);
    if (!together_) return;
    driver_.record(lines_->between(gpu), stream);
    driver_.wait(lines_->down(gpu).stream, lines_->between(gpu));
  }

  void exchange(int array) {
    const std::vector<CopyCall>& calls = calls_[array];
    if (together_) {
      (void)planned_->engine.copy_many(calls);
      return;
    }
    const std::vector<Halo> halos = halos_of(grid_, array);
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (i == lines_->size() && in_phases_) wait_for_arrivals();
      if (planned_) (void)planned_->engine.copy(calls[i]);
      else copy_natively(calls[i], halos[i]);
    }
  }

  // No GPU sends down before it has what comes up, as with MPI_Sendrecv: the paths of one phase
  // would meet those of the other.
  void wait_for_arrivals() {
    for (int gpu = 0; gpu < grid_.size(); ++gpu)
      driver_.record(lines_->between(gpu), lines_->up(gpu).stream);
    for (int gpu = 0; gpu < grid_.size(); ++gpu)
      driver_.wait(lines_->up(gpu).stream, lines_->between(grid_.below(gpu)));
  }

  void copy_natively(const CopyCall& call, const Halo& halo) {
    driver_.copy_native({call.destination,
                         call.source,
                         call.bytes,
                         {},
                         grid_.gpus[index(halo.to)],
                         grid_.gpus[index(halo.from)]},
                        call.stream);
  }

  std::vector<CopyCall> calls_of(int array) {
    std::vector<CopyCall> calls;
    for (const Halo& halo : halos_of(grid_, array)) {
      const bool up = index(static_cast<int>(calls.size())) < lines_->size();
      PlanOptions options;
      if (how_.way == JacobiWay::stream) options.executor = Executor::stream;
      if (how_.way == JacobiWay::graph) options.executor = Executor::graph;
      if (how_.way != JacobiWay::native)
        options.paths = paths_of(machine_, grid_, halo, up, how_.paths);
      calls.push_back({memory_.address(halo.destination), memory_.address(halo.source),
                       grid_.halo(), (up ? lines_->up(halo.from) : lines_->down(halo.from)).stream,
                       grid_.gpus[index(halo.from)], std::move(options)});
    }
    return calls;
  }

  Driver& driver_;
  const Machine& machine_;
  const JacobiGrid& grid_;
  const JacobiMemory& memory_;
  JacobiHow how_;
  bool together_;   ///< all halos of an iteration are asked for at once, on two streams per GPU
  bool in_phases_;  ///< the ones that go down follow when those that go up have arrived
  JacobiKernels kernels_;
  std::unique_ptr<JacobiLines> lines_;
  std::unique_ptr<Planned> planned_;  ///< null: native copies
  std::vector<CopyCall> calls_[2];    ///< by array
};

}  // namespace

std::unique_ptr<JacobiSolver> make_jacobi_streams(const OpenMachine& opened, const JacobiGrid& grid,
                                                  const JacobiMemory& memory,
                                                  const JacobiHow& how) {
  return std::make_unique<JacobiStreams>(opened, grid, memory, how);
}

}  // namespace polypath::bench
