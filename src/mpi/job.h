#pragma once
// The job that a process was started in by MPI's launcher.

#include <optional>
#include <string>

namespace polypath::mpi {

/// A name that the processes of one start have on this computer, and no others; empty if the
/// process was started alone. To be asked before MPI is initialised.
std::string this_job();
/// How many ranks the launcher says that it has started on this computer; none if it does not say.
std::optional<int> ranks_started_here();

}  // namespace polypath::mpi
