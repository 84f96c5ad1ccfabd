#pragma once
// The layer before MPI in this process.

#include <string>

#include "mpi/layer.h"

namespace polypath::preload {

/// MPI's functions, and the layer before them.
struct MpiLayer {
  mpi::Functions real;          ///< null, if there is no MPI in the process
  mpi::Layer* layer = nullptr;  ///< null: all calls are MPI's
};

/// This process's, made at its first call of MPI.
const MpiLayer& mpi_layer();

/// True if this process may use GPUs.
bool has_driver();

/// True of names that MPI's functions may have.
inline bool is_of_mpi(const char* name) {
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
