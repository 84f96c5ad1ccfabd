#include "api/preload/process_report.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <nlohmann/json.hpp>

#include "api/preload/mpi_layer.h"
#include "api/preload/nccl_report.h"
#include "api/preload/shared_counts.h"
#include "core/descriptor.h"
#include "core/files.h"
#include "core/json_text.json.h"
#include "core/process.h"
#include "core/standard_error.h"
#include "core/statistics_target.h"

namespace polypath::preload {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kIndent = 1;

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

bool driver_is_open() {
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (driver != nullptr) dlclose(driver);
  return driver != nullptr;
}

Json outcomes_of(const Tally& tally) {
  Json outcomes = Json::array();
  for (std::size_t i = 0; i < kOutcomes; ++i) {
    const auto outcome = static_cast<Outcome>(i);
    if (tally.calls(outcome) == 0) continue;
    outcomes.push_back({{"text", text_of(outcome)},
                        {"accelerated", i < kAccelerated},
                        {"calls", tally.calls(outcome)},
                        {"bytes", tally.bytes(outcome).value},
                        {"large_bytes", tally.large_bytes(outcome).value},
                        {"missed_seconds", tally.missed(outcome).value}});
  }
  return outcomes;
}

bool write_report(const std::string& folder, const ReportedProcess& process, const Tally& tally,
                  const std::string& why_off) {
  const std::string path = fmt::format("{}/{}-{}.json", folder, process.host, process.number);
  const std::string unfinished = path + ".part";
  const std::string text = process_report(process, tally, why_off);
  std::FILE* file =
      may_write_files_of(text.size()) ? std::fopen(unfinished.c_str(), "we") : nullptr;
  if (file == nullptr) {
    // `polypath run` may have ended before, and its folder with it.
    if (SharedCounts::of_process().is_attached() && access(folder.c_str(), F_OK) != 0) return false;
    write_to_stderr(
        fmt::format("polypath: statistics cannot be written to {} (this process may not) Make the "
                    "folder, or set POLYPATH_STATS=1.\n",
                    path));
    return false;
  }
  const bool written = std::fputs(text.c_str(), file) >= 0;
  return std::fclose(file) == 0 && written && std::rename(unfinished.c_str(), path.c_str()) == 0;
}

}  // namespace

std::string rank_of_launcher() {
  for (const char* variable :
       {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID", "RANK"})
    if (const char* rank = std::getenv(variable); rank != nullptr && *rank != '\0') return rank;
  return "";
}

ReportedProcess this_process_reported() {
  return {.number = getpid(),
          .rank = rank_of_launcher(),
          .program = program_name(),
          .host = host_name(),
          .driver_open = driver_is_open()};
}

std::string process_report(const ReportedProcess& process, const Tally& tally,
                           const std::string& why_off) {
  Json report = {{"schema", "polypath.process/1"},
                 {"process", process.number},
                 {"rank", process.rank.empty() ? Json() : Json(process.rank)},
                 {"program", process.program},
                 {"host", process.host},
                 {"driver_open", process.driver_open},
                 {"complete", true},
                 {"why_off", why_off},
                 {"outcomes", outcomes_of(tally)}};
  if (Json collectives = Json::parse(nccl_report()); !collectives.is_null())
    report["nccl"] = std::move(collectives);
  // Names may have any bytes.
  return json_text(report, kIndent) + "\n";
}

std::string unused_line(const ReportedProcess& process) {
  const std::string rank = process.rank.empty() ? "" : ", rank " + process.rank;
  return fmt::format("polypath: process {}{} ({}): loaded, 0 copies, {}\n", process.number, rank,
                     process.program, process.driver_open ? "driver open" : "no driver");
}

bool send_statistics(const Tally& tally, const std::string& why_off) noexcept {
  try {
    const StatisticsTarget target = statistics_target();
    if (!target.wanted) return false;
    if (!target.folder.empty())
      return write_report(target.folder, this_process_reported(), tally, why_off);
    write_to_stderr(tally.table(getpid(), why_off, rank_of_launcher()) + nccl_lines(getpid()) +
                    mpi_lines(getpid()));
  } catch (const std::exception&) {
    // Without memory there are no statistics.
  }
  return false;
}

bool send_unused() noexcept {
  try {
    const StatisticsTarget target = statistics_target();
    if (!target.wanted) return false;
    const ReportedProcess process = this_process_reported();
    if (!target.folder.empty()) return write_report(target.folder, process, Tally(), "");
    write_to_stderr(unused_line(process) + nccl_lines(process.number) +
                    mpi_lines(static_cast<int>(process.number)));
  } catch (const std::exception&) {
    // As above.
  }
  return false;
}

}  // namespace polypath::preload
