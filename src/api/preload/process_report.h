#pragma once
// The outcomes of this process's copies, as text and as JSON. `polypath run --report` puts the
// files of all processes together; docs/json.md has their schema.

#include <string>

#include "api/preload/outcome.h"

namespace polypath::preload {

/// This process as its statistics name it.
struct ReportedProcess {
  int number = 0;
  std::string rank;     ///< among the processes of an MPI program; empty if it is none
  std::string program;  ///< its name as the system has it
  std::string host;
  bool driver_open = false;
};

/// The rank that the launcher has given this process: Open MPI, Hydra, Slurm or torchrun.
std::string rank_of_launcher();
ReportedProcess this_process_reported();

/// Schema polypath.process/1.
std::string process_report(const ReportedProcess& process, const Tally& tally,
                           const std::string& why_off);
/// One line on a process that has made no copy.
std::string unused_line(const ReportedProcess& process);

/// Sends the statistics where POLYPATH_STATS says; does nothing if it is not set. True if they are
/// in a folder. A folder that cannot be written to is reported on stderr.
bool send_statistics(const Tally& tally, const std::string& why_off) noexcept;
/// The same of a process that has made no copy.
bool send_unused() noexcept;

}  // namespace polypath::preload
