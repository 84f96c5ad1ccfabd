#include "api/python/mpi_messages.h"

#include <dlfcn.h>

#include <cstdint>
#include <utility>

#include "core/error.h"
#include "mpi/threaded_transport.h"

namespace nb = nanobind;

namespace polypath::python {
namespace {

// A library of one name may have either of MPICH's interfaces.
std::string file_of(const void* function) {
  Dl_info found{};
  return dladdr(function, &found) != 0 && found.dli_fname != nullptr ? found.dli_fname : "";
}

mpi::Library library_behind(const std::string& module) {
  void* const opened = dlopen(module.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  const auto find = [opened](const char* name) { return dlsym(opened, name); };
  if (opened != nullptr)
    if (auto found = mpi::library_of(find, file_of(find("PMPI_Allreduce")))) return *found;
  fail(ErrorCode::unsupported, "'" + module + "' has no MPI that is known",
       "it is linked with no library that has MPI's functions", "Use a module of mpi4py.");
}

// Never destroyed: calls of MPI may be under way to the end.
const std::shared_ptr<mpi::MpiLife>& life_of_mpi() {
  static const auto& life = *new std::shared_ptr<mpi::MpiLife>(std::make_shared<mpi::MpiLife>());
  return life;
}

}  // namespace

MpiMessages::MpiMessages(const std::string& module, nb::object split)
    : library_(library_behind(module)), split_(shared(std::move(split))) {}

std::unique_ptr<Transport> MpiMessages::connect(Communicator& communicator) {
  const auto handle = ask_python([this] { return nb::cast<std::uintptr_t>((*split_)()); });
  return std::make_unique<mpi::ThreadedTransport>(
      library_, library_.handle(handle), communicator.rank(), communicator.size(), life_of_mpi());
}

void MpiMessages::end() { life_of_mpi()->end(); }

}  // namespace polypath::python
