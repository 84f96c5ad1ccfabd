#include "driver/sim/faults.h"

#include <fmt/format.h>

#include "core/error.h"

namespace polypath::sim {

const char* name_of(Call call) {
  static constexpr std::array<const char*, kCallKinds> kNames = {
      "allocate",      "free",        "create_stream", "destroy_stream", "create_event",
      "destroy_event", "record",      "wait",          "is_done",        "elapsed",
      "copy",          "reduce",      "load_kernel",   "unload_kernel",  "run_kernel",
      "write_value",   "wait_value",  "export_memory", "import_memory",  "release_import",
      "instantiate",   "update_node", "launch",        "destroy_graph",  "synchronize"};
  return kNames[static_cast<std::size_t>(call)];
}

void Faults::fail_nth(Call call, int nth) {
  call_ = call;
  fails_at_ = uses(call) + nth;
  for_good_ = false;
}

void Faults::fail_from(Call call, int nth) {
  fail_nth(call, nth);
  for_good_ = true;
}

void Faults::clear() { fails_at_ = 0; }

void Faults::count(Call call) {
  const int use = ++uses_[static_cast<std::size_t>(call)];
  if (fails_at_ == 0 || call != call_) return;
  if (use != fails_at_ && !(for_good_ && use > fails_at_)) return;
  fail(call == Call::allocate ? ErrorCode::out_of_memory : ErrorCode::driver,
       fmt::format("{} failed", name_of(call)), fmt::format("told to fail at use {}", use));
}

}  // namespace polypath::sim
