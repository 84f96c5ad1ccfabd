#pragma once
// A call that MPI makes with copies in the host of what is a GPU's: right for every function, type
// and reduction, with any MPI.

#include "mpi/call.h"
#include "mpi/memory.h"

namespace polypath::mpi {

/// The program's own call, with memory of the caller's choice.
class RealCall {
 public:
  template <class Function>
  RealCall(const Function& function)  // NOLINT(google-explicit-constructor): for lambdas
      : function_(&function), call_([](const void* what, const void* send, void* receive) {
          return (*static_cast<const Function*>(what))(send, receive);
        }) {}
  Result operator()(const void* send, void* receive) const {
    return call_(function_, send, receive);
  }

 private:
  const void* function_;
  Result (*call_)(const void*, const void*, void*);
};

/// Waits for the call. Where only one of the memories is a GPU's, the other one is used as it is.
/// Errors: out_of_memory; those of the driver.
Result run_staged(const Library& library, const Surroundings& around, const Call& call,
                  GpuOf gpu_of, const RealCall& real);

}  // namespace polypath::mpi
