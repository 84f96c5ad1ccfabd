#include "mpi/library.h"

#include <string>

namespace polypath::mpi {
namespace {

using Find = std::function<void*(const char* name)>;

template <class Function>
void find(const Find& look, const std::string& name, Function& function) {
  function = reinterpret_cast<Function>(look(name.c_str()));
}

}  // namespace

Functions functions_named(const Find& look, const std::string& prefix) {
  Functions real;
#define POLYPATH_FIND(name, ...) find(look, prefix + #name, real.name);
  POLYPATH_MPI_COMMUNICATORS(POLYPATH_FIND)
  POLYPATH_MPI_COMPLETIONS(POLYPATH_FIND)
  POLYPATH_MPI_MESSAGES(POLYPATH_FIND)
  POLYPATH_MPI_PERSISTENT(POLYPATH_FIND)
  POLYPATH_MPI_LIFE(POLYPATH_FIND)
  POLYPATH_MPI_WINDOWS(POLYPATH_FIND)
  POLYPATH_MPI_ONE_ELEMENT(POLYPATH_FIND)
  POLYPATH_MPI_QUESTIONS(POLYPATH_FIND)
#undef POLYPATH_FIND
#define POLYPATH_FIND(name, nonblocking, ...) \
  find(look, prefix + #name, real.name);      \
  find(look, prefix + #nonblocking, real.nonblocking);
  POLYPATH_MPI_COLLECTIVES(POLYPATH_FIND)
  POLYPATH_MPI_ONE_SIDED(POLYPATH_FIND)
#undef POLYPATH_FIND
#define POLYPATH_FIND(name, requesting, ...)        \
  find(look, prefix + #name + "_c", real.name##_c); \
  find(look, prefix + #requesting + "_c", real.requesting##_c);
  POLYPATH_MPI_LARGE_ONE_SIDED(POLYPATH_FIND)
#undef POLYPATH_FIND
#define POLYPATH_FIND(name, nonblocking, ...)                     \
  find(look, prefix + #name + "_c", real.name##_c);               \
  find(look, prefix + #nonblocking + "_c", real.nonblocking##_c); \
  find(look, prefix + #name + "_init_c", real.name##_init_c);
  POLYPATH_MPI_LARGE_COLLECTIVES(POLYPATH_FIND)
#undef POLYPATH_FIND
#define POLYPATH_FIND(name, ...) find(look, prefix + #name + "_init", real.name##_init);
  POLYPATH_MPI_COLLECTIVES(POLYPATH_FIND)
#undef POLYPATH_FIND
  real.Query_cuda_support = reinterpret_cast<int (*)()>(look("MPIX_Query_cuda_support"));
  return real;
}

namespace {

void* word(std::intptr_t value) { return reinterpret_cast<void*>(value); }

// Open MPI's handles are the addresses of its objects.
Library open_mpi(const Find& look) {
  const auto at = [&](const char* name) { return reinterpret_cast<Handle>(look(name)); };
  return {.abi = Abi::open_mpi,
          .real = functions_named(look, "PMPI_"),
          .world = at("ompi_mpi_comm_world"),
          .self = at("ompi_mpi_comm_self"),
          .byte = at("ompi_mpi_byte"),
          .integer = at("ompi_mpi_int"),
          .no_communicator = at("ompi_mpi_comm_null"),
          .sum = at("ompi_mpi_op_sum"),
          .product = at("ompi_mpi_op_prod"),
          .maximum = at("ompi_mpi_op_max"),
          .minimum = at("ompi_mpi_op_min"),
          .in_place = word(1),
          .status_ignore = nullptr,
          .any_source = -1,
          .no_request = at("ompi_request_null"),
          .other_error = 16,
          .no_info = at("ompi_mpi_info_null"),
          .no_operation = at("ompi_mpi_op_no_op"),
          .window_base = 7,
          .window_size = 8,
          .lock_exclusive = 1,
          .threads = 3};
}

// As MPICH has promised its relatives since version 3.1 (the MPICH ABI initiative).
Library mpich(const Find& look) {
  return {.abi = Abi::mpich,
          .real = functions_named(look, "PMPI_"),
          .world = 0x44000000,
          .self = 0x44000001,
          .byte = 0x4c00010d,
          .integer = 0x4c000405,
          .no_communicator = 0x04000000,
          .sum = 0x58000003,
          .product = 0x58000004,
          .maximum = 0x58000001,
          .minimum = 0x58000002,
          .in_place = word(-1),
          .status_ignore = word(1),
          .any_source = -2,
          .no_request = 0x2c000000,
          .other_error = 15,
          .no_info = 0x1c000000,
          .no_operation = 0x5800000e,
          .window_base = 0x66000001,
          .window_size = 0x66000003,
          .lock_exclusive = 234,
          .threads = 3};
}

// MPI 5.0, chapter 20 and appendix A.
Library standard(const Find& look) {
  return {.abi = Abi::standard,
          .real = functions_named(look, "PMPI_"),
          .world = 0x101,
          .self = 0x102,
          .byte = 0x247,
          .integer = 0x209,
          .no_communicator = 0x100,
          .sum = 0x21,
          .product = 0x24,
          .maximum = 0x23,
          .minimum = 0x22,
          .in_place = word(1),
          .status_ignore = nullptr,
          .any_source = -1,
          .no_request = 0x180,
          .other_error = 16,
          .no_info = 0x130,
          .no_operation = 0x3d,
          .window_base = 601,
          .window_size = 603,
          .lock_exclusive = 301,
          .threads = 4096};
}

}  // namespace

Handle Library::handle_at(const void* handles, int number) const {
  const auto at = static_cast<std::size_t>(number);
  if (abi == Abi::mpich) return static_cast<const std::uint32_t*>(handles)[at];
  return static_cast<const Handle*>(handles)[at];
}

std::optional<ReduceOperator> Library::operator_of(Handle operation) const {
  if (operation == sum) return ReduceOperator::sum;
  if (operation == product) return ReduceOperator::product;
  if (operation == maximum) return ReduceOperator::maximum;
  if (operation == minimum) return ReduceOperator::minimum;
  return std::nullopt;
}

std::optional<Library> library_of(const Find& look, std::string_view file) {
  if (look("PMPI_Allreduce") == nullptr) return std::nullopt;
  if (file.find("mpi_abi") != std::string_view::npos) return standard(look);
  return look("ompi_mpi_comm_world") != nullptr ? open_mpi(look) : mpich(look);
}

}  // namespace polypath::mpi
