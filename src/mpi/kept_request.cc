#include "mpi/kept_request.h"

namespace polypath::mpi {
namespace {

Result cancel(void* /*state*/, int /*is_over*/) { return kSuccess; }

}  // namespace

struct KeptRequest::State {
  const Library* library;
  Result result = kSuccess;
};

KeptRequest::KeptRequest(const Library& library, void* place, Result& result)
    : library_(library), state_(new State{&library}) {  // NOLINT: MPI keeps it
  result = library.real.Grequest_start(&query, &free, &cancel, state_, place);
  handle_ = library.handle_at(place, 0);
}

Result KeptRequest::complete(Result result) {
  state_->result = result;
  library_.real.Grequest_complete(handle_);
  return kSuccess;
}

Result KeptRequest::query(void* state, void* status) {
  const auto& self = *static_cast<State*>(state);
  self.library->real.Status_set_elements(status, self.library->byte, 0);
  self.library->real.Status_set_cancelled(status, 0);
  return self.result;
}

Result KeptRequest::free(void* state) {
  delete static_cast<State*>(state);  // NOLINT(cppcoreguidelines-owning-memory)
  return kSuccess;
}

Result give_completed_request(const Library& library, void* place) {
  Result result = kSuccess;
  KeptRequest made(library, place, result);
  return result == kSuccess ? made.complete(kSuccess) : result;
}

}  // namespace polypath::mpi
