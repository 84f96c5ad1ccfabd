#pragma once
// What a program waits for, where the layer makes the call.

#include "mpi/library.h"

namespace polypath::mpi {

/// What the program waits for.
class ProgramRequest {
 public:
  virtual ~ProgramRequest() = default;
  /// The call is over. An error that the request cannot hold is returned.
  [[nodiscard]] virtual Result complete(Result result) = 0;
};

/// A request that MPI keeps. It asks about it, and says when it is not needed any more.
class KeptRequest : public ProgramRequest {
 public:
  /// At `place`. An error of MPI's is at `result`.
  KeptRequest(const Library& library, void* place, Result& result);
  Result complete(Result result) override;

 private:
  struct State;
  static Result query(void* state, void* status);
  static Result free(void* state);

  const Library& library_;
  State* state_;
  Handle handle_ = 0;
};

/// A request that is over, at `place`.
Result give_completed_request(const Library& library, void* place);

}  // namespace polypath::mpi
