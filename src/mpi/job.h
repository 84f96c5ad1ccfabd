#pragma once
// The job that a process was started in by MPI's launcher.

#include <string>

namespace polypath::mpi {

/// A name that the processes of one start have on this computer, and no others; empty if the
/// process was started alone. To be asked before MPI is initialised.
std::string this_job();

}  // namespace polypath::mpi
