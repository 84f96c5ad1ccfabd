#include "mpi/job.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "core/files.h"
#include "core/hash.h"
#include "core/process_identity.h"
#include "core/text.h"

namespace polypath::mpi {
namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

// Of a process, what stands in a file of the system; empty if it is gone.
std::string text_of(int process, const char* name) {
  return read_file(fmt::format("/proc/{}/{}", process, name), 4096).value_or("");
}

// The words of /proc/PROCESS/stat after the name, which is in parentheses and may hold anything.
int parent_of(const std::string& stat) {
  const std::size_t end = stat.rfind(')');
  if (end == std::string::npos || end + 4 >= stat.size()) return 0;
  return static_cast<int>(std::strtol(stat.c_str() + end + 4, nullptr, 10));
}

std::string identity(int process, const std::string& stat) {
  return fmt::format("{} {}", process, start_in(stat.c_str()).value_or(0));
}

// MPICH's launchers give their jobs no name. The process that starts all of a computer is one, with
// perhaps a shell between it and the program.
std::string proxy_of_job() {
  for (int process = getppid(); process > 1;) {
    const std::string stat = text_of(process, "stat");
    if (stat.empty()) break;
    const std::string name = text_of(process, "comm");
    if (name.starts_with("hydra_pmi_proxy") || name.starts_with("mpiexec") ||
        name.starts_with("mpirun"))
      return identity(process, stat);
    process = parent_of(stat);
  }
  return {};
}

std::string name_of_job() {
  if (std::string name = variable("PMIX_NAMESPACE"); !name.empty()) return name;
  if (std::string job = variable("SLURM_JOB_ID"), step = variable("SLURM_STEP_ID");
      !job.empty() && !step.empty())
    return job + "." + step;
  return variable("PMI_RANK").empty() ? std::string() : proxy_of_job();
}

// "4(x2)" of Slurm: the same number on all computers.
std::optional<int> tasks_of_slurm(const std::string& text) {
  return text.find(',') == std::string::npos ? parse_number(text.substr(0, text.find('(')))
                                             : std::nullopt;
}

}  // namespace

std::optional<int> ranks_started_here() {
  for (const char* const name : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"})
    if (const auto number = parse_number(variable(name))) return number;
  return tasks_of_slurm(variable("SLURM_STEP_TASKS_PER_NODE"));
}

std::string this_job() {
  const std::string name = name_of_job();
  return name.empty() ? name : fmt::format("{:016x}", Hash().add(name).value());
}

}  // namespace polypath::mpi
