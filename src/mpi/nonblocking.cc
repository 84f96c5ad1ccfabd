#include "mpi/nonblocking.h"

#include <fmt/format.h>

#include <utility>

#include "core/error.h"
#include "core/log.h"

namespace polypath::mpi {

/// What MPI asks about a request; MPI says when it is not needed any more.
struct NonblockingCalls::Request {
  const Library* library;
  Result result = kSuccess;

  static Result query(void* state, void* status) {
    const auto& self = *static_cast<Request*>(state);
    self.library->real.Status_set_elements(status, self.library->byte, 0);
    self.library->real.Status_set_cancelled(status, 0);
    return self.result;
  }
  static Result free(void* state) {
    delete static_cast<Request*>(state);  // NOLINT(cppcoreguidelines-owning-memory)
    return kSuccess;
  }
  static Result cancel(void* /*state*/, int /*is_over*/) { return kSuccess; }
};

struct NonblockingCalls::Running {
  Operation operation;
  HostCopies copies;
  Handle request = 0, inner = 0;  ///< the program's, and that of MPI's own call
  Request* state = nullptr;
};

NonblockingCalls::NonblockingCalls(const Library& library, Open open, GpuOf gpu_of)
    : library_(library), open_(std::move(open)), gpu_of_(gpu_of) {}

NonblockingCalls::~NonblockingCalls() = default;

Result NonblockingCalls::begin(const Call& call, const RealStart& start, void* request) {
  auto made = std::make_unique<Running>(
      Running{call.operation, HostCopies(library_, open_(), call, gpu_of_)});
  const Result begun = start(made->copies.send(), made->copies.receive(), &made->inner);
  if (begun != kSuccess) return begun;
  made->state = new Request{&library_};  // NOLINT(cppcoreguidelines-owning-memory): MPI keeps it
  const Result kept = library_.real.Grequest_start(&Request::query, &Request::free,
                                                   &Request::cancel, made->state, request);
  if (kept != kSuccess) return kept;  // MPI cannot go on
  made->request = library_.handle_at(request, 0);
  const std::scoped_lock lock(mutex_);
  running_.push_back(std::move(made));
  ++count_;
  return kSuccess;
}

void NonblockingCalls::go_on() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;  // another thread is at it
  std::erase_if(running_, [&](const std::unique_ptr<Running>& each) {
    if (!is_over(*each)) return false;
    --count_;
    library_.real.Grequest_complete(each->request);
    return true;
  });
}

bool NonblockingCalls::is_over(Running& running) const {
  int flag = 0;
  const Result result = library_.real.Test(&running.inner, &flag, library_.status_ignore);
  if (result == kSuccess && flag == 0) return false;
  running.state->result = result;
  if (result != kSuccess) return true;
  try {
    running.copies.give_back();
  } catch (const Error& error) {
    log(LogLevel::error, fmt::format("MPI i{}: {}", name_of(running.operation), error.what()));
    running.state->result = library_.other_error;
  }
  return true;
}

}  // namespace polypath::mpi
