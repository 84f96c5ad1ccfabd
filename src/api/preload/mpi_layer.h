#pragma once
// The layer before MPI in this process.

#include <string>

#include "mpi/layer.h"

namespace polypath::preload {

struct FoundMpi;

/// A call of MPI on its way through our functions.
///
///   the program ─▶ MPI_X, ours ─▶ MPI_X of another tool, if there is one ─▶ PMPI_X, ours ─▶ MPI's
///
/// Where the tool stands before us, or a Fortran function of MPI's calls PMPI_X, that is the first
/// one that we see. Only the first one of a thread is looked at.
class MpiCall {
 public:
  MpiCall();
  MpiCall(const MpiCall&) = delete;
  MpiCall& operator=(const MpiCall&) = delete;
  ~MpiCall();

  /// The functions that it goes on to; they stay. All null, if there is no MPI in the process.
  const mpi::Functions& real;
  mpi::Layer* const layer;  ///< null: it is MPI's

 private:
  MpiCall(const FoundMpi& mpi, bool is_first);
};

/// True if this process may use GPUs.
bool has_driver();

/// True of names that MPI's functions may have, profiling names among them.
inline bool is_of_mpi(const char* name) {
  if (name != nullptr && name[0] == 'P') ++name;
  return name != nullptr && name[0] == 'M' && name[1] == 'P' && name[2] == 'I' && name[3] == '_';
}
/// Our function for a function that dlsym has found in a library, if that library is the MPI of
/// this process. Else `real`.
void* mpi_replacement(void* library, const char* name, void* real);
/// The same for a program that asks for a function of any library: none where there is no MPI, or
/// it has no such function.
void* mpi_of_any_library(const char* name, void* found);

/// The exported functions, by name; library/mpi.cc has them.
using MpiEntries = void* (*)(const char* name);
void set_mpi_entries(MpiEntries entries);

/// The fates of the calls, for people; empty if there were none.
std::string mpi_lines(int process);

}  // namespace polypath::preload
