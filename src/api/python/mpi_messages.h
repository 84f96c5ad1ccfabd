#pragma once
// Messages between nodes by the MPI of mpi4py.

#include <nanobind/nanobind.h>

#include <memory>
#include <string>

#include "api/python/ask_python.h"
#include "api/python/own_messages.h"
#include "mpi/library.h"

namespace polypath::python {

class MpiMessages final : public OwnMessages {
 public:
  /// `module` is the file of mpi4py's module, which is linked with MPI. `split` makes a
  /// communicator of all ranks and returns its handle; it returns errors. Error (unsupported) for a
  /// module without an MPI that is known.
  MpiMessages(const std::string& module, nanobind::object split);

  std::unique_ptr<Transport> connect(Communicator& communicator) override;
  [[nodiscard]] std::string carrier() const override { return "mpi"; }

  /// MPI is about to end: no transport of this process calls it any more.
  static void end();

 private:
  mpi::Library library_;
  Function split_;
};

}  // namespace polypath::python
