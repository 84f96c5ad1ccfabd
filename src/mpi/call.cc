#include "mpi/call.h"

#include <array>

namespace polypath::mpi {
const char* name_of(Operation operation) {
  constexpr std::array<const char*, kOperations> kNames = {
      "allreduce",  "reduce",   "reduce_scatter", "reduce_scatter_block",
      "scan",       "exscan",   "bcast",          "allgather",
      "allgatherv", "gather",   "gatherv",        "scatter",
      "scatterv",   "alltoall", "alltoallv",      "alltoallw"};
  return kNames[static_cast<std::size_t>(operation)];
}

Range range_of(const Library& library, const Side& side) {
  if (!side.counts.is_there()) return range_of(library, side.type, side.count * side.parts);
  Range all;
  Count next = 0;
  for (int part = 0; part < side.parts; ++part) {
    const Handle type = side.types == nullptr ? side.type : library.handle_at(side.types, part);
    const Range own = range_of(library, type, side.counts[part]);
    const Count unit = side.types == nullptr ? extent_of(library, type) : 1;
    const Count at = (side.displacements.is_there() ? side.displacements[part] : next) * unit;
    next += side.counts[part];
    all = all.with({own.begin + at, own.end + at});
  }
  return all;
}

// What is received says how much it is, of a broadcast what is sent.
bool is_empty(const Call& call) {
  switch (call.operation) {
    case Operation::all_reduce:
    case Operation::reduce:
    case Operation::reduce_scatter_block:
    case Operation::scan:
    case Operation::exclusive_scan:
    case Operation::all_gather:
    case Operation::all_to_all: return call.receive.count == 0;
    case Operation::broadcast: return call.send.count == 0;
    default: return false;
  }
}

}  // namespace polypath::mpi
