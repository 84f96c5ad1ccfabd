#include "collective/rank/part_runs.h"

#include <algorithm>
#include <functional>

namespace polypath::collective {
namespace {

// With the other ranks' calls, as a part of what a call takes, and in all.
constexpr double kWaitShare = 0.25;
constexpr Seconds kLongestWait{1e-3};
constexpr Seconds kCaptureTimeout{0.05};  // for memory, and as long for the call

}  // namespace

std::uint64_t PartRuns::run(const CallPrograms& made, const std::vector<Address>& own,
                            StreamHandle stream, bool captured) {
  const auto all = made.open.program ? open_buffers(made, own, captured) : std::nullopt;
  if (!all) return run_.run(run_.bind(made.usual.in(captured), own), stream, captured);
  const BoundPart open = run_.bind(made.open.in(captured), *all);
  const std::uint64_t number = run_.run(open, stream, captured);
  // To close a mapping may wait for the GPU, and later runs there for other ranks. When a graph has
  // run for the last time is not known.
  const auto is_idle = [&run = run_] { return run.is_idle(); };
  if (captured) open_.note_use(is_idle);
  else open_.note_use(is_idle, [&run = run_, number] { return run.is_over(number); });
  ++open_calls_;
  return number;
}

std::optional<std::vector<Address>> PartRuns::open_buffers(const CallPrograms& made,
                                                           std::vector<Address> own,
                                                           bool captured) {
  const auto number = static_cast<std::size_t>(rank_), ranks = static_cast<std::size_t>(ranks_);
  PeerRegistration::Memories mine{{{own[number], made.input}}};
  if (own.size() > ranks) mine[1] = {own[ranks + number], made.output};
  else mine[0].bytes = std::max(made.input, made.output);
  const Seconds usual =
      captured ? kCaptureTimeout : std::min(made.open.draft.predicted * kWaitShare, kLongestWait);
  const Seconds timeout = programs_.options().agreement_timeout.value_or(usual);
  // A rank whose GPU is busy can wait for free.
  std::function<bool()> is_busy;
  if (!captured && !programs_.options().agreement_timeout)
    is_busy = [this] { return !run_.is_idle(); };
  const auto all = open_.lookup_all(mine, timeout, captured, is_busy);
  if (!all) return std::nullopt;
  for (std::size_t each = 0; each < ranks; ++each) {
    own[each] = (*all)[each][0];
    if (own.size() > ranks) own[ranks + each] = (*all)[each][1];
  }
  return own;
}

}  // namespace polypath::collective
