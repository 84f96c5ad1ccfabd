#include "collective/rank/rank_run.h"

#include <algorithm>
#include <utility>

#include "collective/choose/predicted_time.h"
#include "collective/program/tuning.h"
#include "collective/rank/timeouts.h"
#include "engine/call/copy_call.h"

namespace polypath {
namespace {

constexpr int kRemembered = 256;  // runs

}  // namespace

RankRun::RankRun(Driver& driver, const Machine& machine, const Settings& settings, Group group)
    : driver_(driver),
      machine_(machine),
      group_(std::move(group)),
      hops_(driver, machine, with_collective_slots(settings, machine)),
      memory_(driver, group_.ranks, group_.rank,
              {.flags_per_pair = group_.flags_per_pair,
               .slot = with_collective_slots(settings, machine).staging_slot,
               .flags = flags_place(machine, group_.ranks, group_.rank)},
              group_.all_gather),
      kernels_(driver, machine),
      streams_(driver, hops_),
      graphs_(driver, hops_, settings, statistics_),
      drained_(driver),
      ends_(driver, gpu()) {
  (void)ends_.at(kRemembered - 1);  // all are there before the first query
}

RankRun::~RankRun() {
  ignore_errors([&] { synchronize(); });
}

void RankRun::synchronize() {
  if (const EventHandle last = last_; last.value != 0) driver_.synchronize(last);
}

// Runs end in order, so a run that is over shows that all before it are over. A query of the driver
// takes over a microsecond, in which no thread can enqueue: few queries have to serve hundreds of
// runs.
bool RankRun::is_done(std::uint64_t run) {
  const std::uint64_t newest = runs_;
  if (run <= done_ || run + kRemembered <= newest) return true;
  for (std::uint64_t later = newest; later >= run; later = run + (later - run) / 2) {
    if (driver_.is_done(end_of(later))) {
      done_ = later;
      return true;
    }
    if (later == run) break;
  }
  return false;
}

EventHandle RankRun::end_of(std::uint64_t run) {
  return ends_.at(static_cast<int>(run % kRemembered));
}

PlaceId RankRun::gpu() const { return group_.ranks[static_cast<std::size_t>(group_.rank)]; }

void RankRun::prepare(const RankProgram& program) {
  memory_.prepare(machine_, program.part);
  kernels_.prepare(program.part.program);
}

// The queued half of a part waits for the other ranks, and they wait for the half that is not
// queued.
bool RankRun::drain_by_force(const Transfer& transfer) noexcept {
  std::vector<EventHandle> ends;
  const bool marked = ignore_errors([&] {
    ends.push_back(drained_.on(transfer.stream_gpu));
    driver_.record(ends.back(), transfer.stream);
    for (std::size_t queue = 1; queue < transfer.program->queues().size(); ++queue) {
      QueueStream& used = hops_.stream(transfer.program->queues()[queue]);
      ends.push_back(used.end.on(used.gpu));
      driver_.record(ends.back(), used.stream);
    }
  });
  return marked && wait_with_flags(ends, kGpuTimeout) && hops_.settle(transfer);
}

// A flag may be awaited again and again, within one part and by one after another.
bool RankRun::wait_with_flags(const std::vector<EventHandle>& ends, Seconds timeout) noexcept {
  const auto is_done = [&](EventHandle end) { return driver_.is_done(end); };
  return set_flags_until([&] { return std::all_of(ends.begin(), ends.end(), is_done); }, timeout);
}

// A driver that cannot be asked may still have to be released: then nothing says when that is done.
template <class Question>
bool RankRun::set_flags_until(Question is_over, Seconds timeout) noexcept {
  bool over = false;
  (void)ignore_errors([&] {
    const Seconds start = driver_.now();
    while (!over) {
      if (!ignore_errors([&] { over = is_over(); }))
        timeout = std::min(timeout, kUnansweredTimeout);
      if (over || driver_.now() - start > timeout) return;
      memory_.awaited().set_all();
    }
  });
  return over;
}

namespace {

/// True while it is there.
class While {
 public:
  explicit While(std::atomic<bool>& flag) : flag_(flag) { flag_ = true; }
  While(const While&) = delete;
  While& operator=(const While&) = delete;
  ~While() { flag_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool>& flag_;
};

}  // namespace

// If a part is enqueued while another thread releases, either that thread sees the part, or this
// thread sees the release.
void RankRun::check_held() const {
  if (released_)
    fail(ErrorCode::communicator, "a rank's part of a program cannot run",
         "what its ranks have in common was given up", "Make the group anew.");
}

void RankRun::come_after_last(StreamHandle stream) {
  const EventHandle last = last_;
  if (last.value != 0 && stream != last_stream_) driver_.wait(stream, last);
}

void RankRun::end(std::uint64_t run, StreamHandle stream) {
  const EventHandle ended = end_of(run);
  driver_.record(ended, stream);
  last_ = ended, last_stream_ = stream;
}

std::uint64_t RankRun::note(StreamHandle stream) {
  check_held();
  come_after_last(stream);
  end(runs_ + 1, stream);
  return ++runs_;
}

template <class Runner>
void RankRun::run_by(Runner& executor, const Transfer& transfer, bool captured) {
  const While enqueuing(is_enqueuing_);
  check_held();
  executor.prepare(transfer);
  try {
    if (!captured) come_after_last(transfer.stream);
    executor.run(transfer);
    if (captured) return;
    end(transfer.id, transfer.stream);
    check_held();
  } catch (const Error& error) {
    if (drain_by_force(transfer)) throw;
    is_unsettled_ = true;
    throw UnsettledError(error.code(), error.what());
  }
}

// A captured part becomes nodes of the capturing graph: no graph is launched within.
bool RankRun::runs_as_graph(const RankProgram& program, const Transfer& transfer) {
  if (program.executor == Executor::graph) return true;
  return is_one_kernel(program.part.program) && graphs_.fits(transfer);
}

std::uint64_t RankRun::run(const BoundPart& part, StreamHandle stream, bool captured) {
  const RankProgram& program = *part.program;
  const Transfer transfer{.program = &program.part.program,
                          .structure = program.structure,
                          .buffers = part.addresses,
                          .stream = stream,
                          .stream_gpu = gpu(),
                          .id = runs_ + 1,
                          .kernels = kernels_.handles()};
  if (!captured && runs_as_graph(program, transfer)) run_by(graphs_, transfer, captured);
  else run_by(streams_, transfer, captured);
  return captured ? 0 : ++runs_;
}

bool RankRun::release(Seconds timeout) {
  released_ = true;
  const auto is_over = [this] {
    const bool is_enqueuing = is_enqueuing_;
    const EventHandle last = last_;
    return !is_enqueuing && (last.value == 0 || driver_.is_done(last));
  };
  return set_flags_until(is_over, timeout) && !is_unsettled_;
}

}  // namespace polypath
