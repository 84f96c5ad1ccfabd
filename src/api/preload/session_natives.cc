#include "api/preload/session_natives.h"

#include <vector>

#include "api/preload/session_batch.h"
#include "core/ignore_errors.h"

namespace polypath::preload {
namespace {

// A copy for which something is being made is native without a question for so
// long, or as often as takes so long: copies that are issued all at once count
// at once. To find out takes 20 us where another thread makes contexts
// meanwhile, and 60 to 80 in a thread that is new (H200): TransferBench's ten
// copies of 256 MiB between two GPUs took 1.03 times as long as natively
// (results/h200x4/transferbench.json). So brief copies are made before the
// next one is asked about. Cost: a program gains so much, and a copy, later.
constexpr Seconds kAskedAgainAfter = 10'000_us, kBrief = 5'000_us;

}  // namespace

Outcome outcome_of(FallbackReason obstacle) {
  switch (obstacle) {
    case FallbackReason::none: return Outcome::native;
    case FallbackReason::failed: return Outcome::failed;
    case FallbackReason::preparing: return Outcome::preparing;
    case FallbackReason::no_lane: return Outcome::in_use;
    case FallbackReason::queue_full: return Outcome::queue_full;
    case FallbackReason::reads_peer: return Outcome::reads_peer;
  }
  return Outcome::failed;
}

bool uses_staging(Outcome outcome) {
  return outcome == Outcome::streams || outcome == Outcome::graphs || outcome == Outcome::windows ||
         outcome == Outcome::preparing;
}

// The stream may be gone: it is but a name here.
void SessionNatives::count_early(const EarlyCopies& copies) noexcept {
  (void)ignore_errors([&] {
    const auto [context, gpu] = copies.home;
    if (!cuda::is_active(gpu) || driver_.contexts().of(gpu) != context) return;
    const std::vector<PlaceId> gpus = opened_.machine().places_of(PlaceKind::gpu);
    (void)ask(copies.copy, gpus[static_cast<std::size_t>(gpu)], copies.count - 1);
  });
}

bool SessionNatives::goes_first(const ProgramCopy& asked) {
  return recent_.goes_first(asked, [this] { return driver_.now(); });
}

Fate SessionNatives::count(const ProgramCopy& asked) {
  const auto recent = recent_.find(asked);
  if (!recent || recent->call) return Outcome::native;
  Fate fate = recent->outcome;
  if (recent->is_over([this] { return driver_.now(); })) {
    recent_.end(asked);
    const std::optional<PlaceId> gpu =
        driver_.contexts().are_alive() ? streams_.place_of(asked.stream) : std::nullopt;
    if (gpu && !driver_.is_capturing(streams_.handle_of(asked.stream, *gpu)))
      fate = ask(asked, *gpu, recent->found - 1);
  }
  if (uses_staging(fate.outcome)) uses_.note_staging();
  return fate;
}

Fate SessionNatives::ask(const ProgramCopy& asked, PlaceId gpu, int unasked) {
  ProgramEnds ends;
  if (const auto against = memory_.resolve(asked, gpu, ends)) return *against;
  if (ends.pageable()) return Outcome::preparing;
  CopyCall call = call_of(asked, streams_.handle_of(asked.stream, gpu), gpu, ends, executor_);
  call.unasked = unasked;
  const CopyResult result = engine_.count_native(call, ends.for_engine());
  if (result.obstacle == FallbackReason::preparing) remember_preparing(asked, ends);
  return {outcome_of(result.obstacle), result.missed};
}

void SessionNatives::remember_preparing(const ProgramCopy& asked, const ProgramEnds& ends) {
  const Machine& machine = opened_.machine();
  const auto hop = machine.find_hop(ends.source.memory.place, ends.destination.memory.place);
  const Seconds takes = hop ? asked.bytes / machine.hop(*hop).bandwidth : Seconds::infinity();
  recent_.remember_for_a_while(asked, Outcome::preparing, driver_.now() + kAskedAgainAfter,
                               1 + static_cast<int>(kAskedAgainAfter / takes),
                               takes < kBrief && !ends.pageable());
}

}  // namespace polypath::preload
