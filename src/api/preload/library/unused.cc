// A process that has the library and makes no copy says so at its end, if statistics are asked for:
// "no copies" and "not loaded" look alike otherwise.

#include <unistd.h>

#include "api/preload/interposer.h"
#include "api/preload/process_report.h"
#include "api/preload/shared_counts.h"
#include "core/statistics_target.h"

namespace polypath::preload {
namespace {

// A forked child is none that has loaded it.
pid_t loaded_in = 0;

__attribute__((constructor)) void note_process() {
  loaded_in = getpid();
  if (SharedCounts::are_wanted()) Interposer::get().share_counts();
}

__attribute__((destructor)) void end_unused() {
  if (!statistics_target().wanted || getpid() != loaded_in) return;
  if (!Interposer::get().has_begun() && send_unused()) Interposer::get().has_reported();
}

}  // namespace
}  // namespace polypath::preload
