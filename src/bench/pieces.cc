#include "bench/pieces.h"

#include <fmt/format.h>

#include <limits>
#include <numeric>
#include <vector>

#include "core/error.h"
#include "core/text.h"
#include "model/pieces.h"
#include "model/timeline.h"

namespace polypath::bench {
namespace {

void check_total(Bytes bytes, int pieces) {
  if (bytes <= kMostBytes && bytes * static_cast<std::uint64_t>(pieces) <= kMostBytes) return;
  fail(ErrorCode::invalid_argument,
       fmt::format("{} pieces of {} cannot be measured", pieces, format_bytes(bytes)),
       fmt::format("they may have {} together", format_bytes(kMostBytes)),
       "Use fewer or smaller ones.");
}

// One copy after another.
Seconds predict_natively(const Machine& machine, const Operation& operation, Bytes bytes,
                         std::size_t copies) {
  const Lane& lane = operation.lanes.front();
  const Path direct{machine.find_hop(lane.source, lane.destination).value(), {}};
  const std::vector<Bytes> sizes(copies, bytes);
  const DealtPieces all{{direct}, {{0, 0, copies}}};
  const Program program = program_of(machine, sizes, all, 1);
  const IssueTimes issue = issue_times(machine, program, Executor::stream);
  HopRates rates(machine);
  Timeline timeline(machine, rates);
  const auto activities = timeline.add(program, issue, {});
  timeline.play();
  return std::max(issue.done, activities.back()->finished) + machine.costs.synchronize;
}

}  // namespace

void check_pieces(const Request& request) {
  if (request.operation != "many") {
    if (!request.pieces) return;
    fail(ErrorCode::invalid_argument,
         fmt::format("operation '{}' has no pieces", request.operation),
         "only 'many' copies in pieces", "Leave them out.");
  }
  const int pieces = request.pieces.value_or(kPiecesUnlessSaid);
  if (pieces < 1 || pieces > kMostPieces)
    fail(ErrorCode::invalid_argument, fmt::format("{} pieces cannot be used", pieces),
         "it is the number of copies that are asked for together",
         fmt::format("Give a number from 1 to {}.", kMostPieces));
  for (const Bytes bytes : request.sizes) check_total(bytes, pieces);
}

std::size_t block_of(std::size_t piece, std::size_t pieces) {
  std::size_t step = pieces * 5 / 8 + 1;
  while (std::gcd(step, pieces) != 1) ++step;
  return piece * step % pieces;
}

Seconds predict_pieces(const Machine& machine, const Operation& operation, Bytes bytes,
                       const CopyResult& result, int window) {
  const auto times = static_cast<std::size_t>(window);
  if (result.executor == Executor::native || !result.plan)
    return predict_natively(machine, operation, bytes, operation.pieces * times);
  const bool of_one_piece = result.plan->bytes == bytes;  // large ones have a plan each
  if (of_one_piece) return {std::numeric_limits<double>::quiet_NaN()};
  return result.plan->predicted * window;
}

}  // namespace polypath::bench
