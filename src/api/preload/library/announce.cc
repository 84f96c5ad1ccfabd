// The process that `polypath run` starts says that it has the library: nothing else knows whether
// the loader took it. Of an MPI program rank 0 does.

#include <cstdlib>
#include <string_view>

#include "api/preload/process_report.h"
#include "core/standard_error.h"

namespace polypath::preload {
namespace {

constexpr const char* kVariable = "_POLYPATH_RUN";  // python/polypath/preloading.py

__attribute__((constructor)) void announce() {
  const char* asked = std::getenv(kVariable);
  if (asked == nullptr) return;
  const bool by_rank = std::string_view(asked) == "ranks";
  const std::string rank = by_rank ? rank_of_launcher() : "";
  if (by_rank && rank.empty()) return;  // of the launcher, or between it and the ranks
  unsetenv(kVariable);
  if (by_rank && rank != "0") return;
  write_to_stderr(
      "polypath: preloaded into this program: sees all its CUDA copies, with or without UCX\n");
}

}  // namespace
}  // namespace polypath::preload
