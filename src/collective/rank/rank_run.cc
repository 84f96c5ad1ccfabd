#include "collective/rank/rank_run.h"

#include "collective/program/tuning.h"
#include "collective/rank/timeouts.h"
#include "core/ignore_errors.h"
#include "engine/call/copy_call.h"

namespace polypath::collective {

RankRun::RankRun(Driver& driver, const Machine& machine, const Settings& settings,
                 const Group& group)
    : driver_(driver),
      machine_(machine),
      gpu_(group.ranks[static_cast<std::size_t>(group.rank)]),
      memory_(driver, group.ranks, group.rank,
              {.flags_per_pair = group.flags_per_pair,
               .slot = with_collective_slots(settings, machine).staging_slot,
               .flags = flags_place(machine, group.ranks, group.rank)},
              group.all_gather),
      tell_(group.tell),
      parts_(driver, machine, settings),
      ends_(driver, gpu_),
      forced_end_(driver, memory_.awaited()) {}

RankRun::~RankRun() {
  ignore_errors([&] { synchronize(); });
}

void RankRun::prepare(const RankProgram& program) {
  memory_.prepare(machine_, program.part);
  parts_.prepare_kernels(program.part.program);
}

std::uint64_t RankRun::note(StreamHandle stream) {
  forced_end_.check_held();
  ends_.come_after_last(stream);
  return ends_.end(stream);
}

// A captured part becomes nodes of the capturing graph: no graph is launched within.
std::uint64_t RankRun::run(const BoundPart& part, StreamHandle stream, bool captured) {
  const RankProgram& program = *part.program;
  const Transfer transfer{.program = &program.part.program,
                          .structure = program.structure,
                          .buffers = part.addresses,
                          .stream = stream,
                          .stream_gpu = gpu_,
                          .id = ends_.next(),
                          .kernels = parts_.kernels()};
  const Executor by = captured ? Executor::stream : parts_.executor_of(transfer, program.executor);
  const ForcedEnd::Enqueuing enqueuing(forced_end_);
  forced_end_.check_held();
  parts_.prepare(transfer, by);
  try {
    return enqueue(transfer, by, captured);
  } catch (const Error& error) {
    told_ = tell_(error);
    if (drain_by_force(transfer)) throw;
    forced_end_.note_unsettled();
    throw UnsettledError(error.code(), error.what());
  }
}

std::uint64_t RankRun::enqueue(const Transfer& transfer, Executor by, bool captured) {
  if (!captured) ends_.come_after_last(transfer.stream);
  parts_.run(transfer, by);
  if (captured) return 0;
  const std::uint64_t number = ends_.end(transfer.stream);
  forced_end_.check_held();
  return number;
}

// The queued half of a part waits for the other ranks, and they wait for the half that is not
// queued.
bool RankRun::drain_by_force(const Transfer& transfer) noexcept {
  std::vector<EventHandle> ends;
  const bool marked = ignore_errors([&] { ends = parts_.mark_ends(transfer); });
  return marked && forced_end_.drain(ends, kGpuTimeout) && parts_.settle(transfer);
}

bool RankRun::release(Seconds timeout) {
  return forced_end_.release([this] { return ends_.is_last_over(); }, timeout);
}

}  // namespace polypath::collective
