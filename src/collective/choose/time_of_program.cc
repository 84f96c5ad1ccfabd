#include "collective/choose/time_of_program.h"

#include "collective/choose/choose.h"
#include "collective/choose/predicted_time.h"
#include "core/error.h"

namespace polypath::collective {

Seconds time_of_program(const Machine& machine, const HopRates& rates, const Program& program,
                        const CollectiveRequest& request, Executor executor, bool divided) {
  if (!divided) return predicted_time(machine, rates, program, executor, request.ranks.front());
  if (!stays_within_reach(machine, program)) return Seconds::infinity();
  try {
    const auto parts = project(machine, program, request.ranks, kFlagsPerPair,
                               entry_awaits_of(executor, request.collective));
    return predicted_time(machine, rates, parts, request.ranks, executor);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    return Seconds::infinity();
  }
}

}  // namespace polypath::collective
