#include "mpi/nonblocking.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

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
  explicit Running(NonblockingCall begun) : asked(std::move(begun)) {}

  NonblockingCall asked;
  Handle request = 0;
  Request* state = nullptr;
  std::uint64_t number = 0;  ///< of the communicator's calls
  /// What is to be done next, and by which thread.
  enum class Stage {
    asked,    ///< hear of the other ranks, and begin it if it is ours: the communicator's
    for_mpi,  ///< begin it by MPI: the program's
    begun     ///< wait for its end: the program's
  };
  Stage stage = Stage::asked;
  std::optional<EventHandle> event;  ///< on the GPU
  std::unique_ptr<HostCopies> copies;
  Handle inner = 0;  ///< MPI's own request
};

NonblockingCalls::NonblockingCalls(const Library& library, Open open, GpuOf gpu_of, Counts& counts)
    : library_(library), open_(std::move(open)), gpu_of_(gpu_of), counts_(counts) {}

NonblockingCalls::~NonblockingCalls() = default;

void NonblockingCalls::stop(const Member& member) noexcept {
  std::unique_ptr<Background> ended;  // not under the lock, which its task may wait for
  const std::scoped_lock lock(mutex_);
  if (const auto found = threads_.find(&member); found != threads_.end()) {
    ended = std::move(found->second);
    threads_.erase(found);
  }
}

void NonblockingCalls::stop() noexcept {
  decltype(threads_) ended;
  const std::scoped_lock lock(mutex_);
  ended.swap(threads_);
}

// A call that cannot be ours is begun at once, as MPI begins its own.
Result NonblockingCalls::begin(NonblockingCall call, void* request) {
  auto made = std::make_unique<Running>(std::move(call));
  auto state = std::make_unique<Request>(Request{&library_});
  const Result result = library_.real.Grequest_start(&Request::query, &Request::free,
                                                     &Request::cancel, state.get(), request);
  if (result != kSuccess) return result;
  made->state = state.release();
  made->request = library_.handle_at(request, 0);
  Member* const member = made->asked.member;
  if (member != nullptr) made->number = member->announce(made->asked.buffers, [this] { go_on(); });
  const bool may_be_ours = made->asked.buffers == Buffers::ours;
  if (!may_be_ours) made->stage = Running::Stage::for_mpi;
  const std::scoped_lock lock(mutex_);
  ++count_;
  Running& running = *running_.emplace_back(std::move(made));
  if (!may_be_ours) {
    begin_all_in_mpi();
    return kSuccess;
  }
  std::unique_ptr<Background>& thread = threads_[member];
  if (thread == nullptr) thread = std::make_unique<Background>(Background::Priority::normal);
  thread->post([this, &running, &thread = *thread] { hear_and_begin(running, thread); });
  return kSuccess;
}

// Other ranks take as long as they like to come: the longer, the less often they are looked for.
void NonblockingCalls::hear_and_begin(Running& running, Background& thread) {
  constexpr Seconds kLeast{20e-6}, kMost{1e-3};
  std::optional<bool> agreed;
  for (Seconds pause = kLeast; !(agreed = running.asked.member->is_ours(running.number));) {
    if (!thread.pause(pause)) return;
    pause = std::min(Seconds{2 * pause.value}, kMost);
  }
  const bool is_begun = *agreed && begin_ours(running);
  const std::scoped_lock lock(mutex_);
  running.stage = is_begun ? Running::Stage::begun : Running::Stage::for_mpi;
}

// What is completed in here may ask MPI for something, which comes back here.
void NonblockingCalls::go_on() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || goes_on_) return;
  goes_on_ = true;
  begin_all_in_mpi();
  std::erase_if(running_, [&](const std::unique_ptr<Running>& each) {
    if (each->stage != Running::Stage::begun || !is_over(*each)) return false;
    complete(*each);
    return true;
  });
  goes_on_ = false;
}

// MPI gets a communicator's calls in their order: none while one before it may still be MPI's.
void NonblockingCalls::begin_all_in_mpi() {
  std::vector<const Member*> held;
  for (const auto& each : running_) {
    const Member* const member = each->asked.member;
    if (member != nullptr && each->stage == Running::Stage::asked) held.push_back(member);
    if (each->stage != Running::Stage::for_mpi ||
        std::find(held.begin(), held.end(), member) != held.end())
      continue;
    try {
      begin_in_mpi(*each);
    } catch (const Error& error) {
      fail(*each, error.what());
    }
    each->stage = Running::Stage::begun;
  }
}

// False: it is MPI's after all, at every rank.
bool NonblockingCalls::begin_ours(Running& running) {
  Member& member = *running.asked.member;
  try {
    if (!member.enqueue(running.asked.call, running.asked.gpu, open_, Member::By::itself))
      return false;
    running.event = member.record();
    counts_.count(running.asked.call.operation, Fate::ours);
  } catch (const Error& error) {
    member.abort(error.what());
    fail(running, error.what());
  }
  return true;
}

void NonblockingCalls::begin_in_mpi(Running& running) {
  const NonblockingCall& asked = running.asked;
  const void* send = asked.call.send.memory;
  void* receive = asked.call.receive.memory;
  if (asked.gpu >= 0) counts_.count(asked.call.operation, asked.fate);
  if (asked.gpu >= 0 && !library_.takes_gpu_memory()) {
    counts_.note_staging();
    running.copies = std::make_unique<HostCopies>(library_, open_(), asked.call, gpu_of_);
    send = running.copies->send();
    receive = running.copies->receive();
  }
  running.state->result = asked.start(send, receive, &running.inner);
  if (running.state->result != kSuccess) running.inner = library_.no_request;
}

bool NonblockingCalls::is_over(Running& running) {
  try {
    if (running.event) return running.asked.member->is_done(*running.event);
    if (library_.handle(running.inner) == library_.no_request || running.inner == 0) return true;
    int flag = 0;
    const Result result = library_.real.Test(&running.inner, &flag, library_.status_ignore);
    if (result != kSuccess) running.state->result = result;
    if (result == kSuccess && flag == 0) return false;
    if (running.copies) running.copies->give_back();
    return true;
  } catch (const Error& error) {
    fail(running, error.what());
    return true;
  }
}

void NonblockingCalls::fail(Running& running, const char* why) const noexcept {
  log(LogLevel::error, fmt::format("MPI i{}: {}", name_of(running.asked.call.operation), why));
  running.state->result = library_.other_error;
}

void NonblockingCalls::complete(Running& running) {
  if (running.event) running.asked.member->give_back(*running.event);
  --count_;
  library_.real.Grequest_complete(running.request);
}

bool NonblockingCalls::has_not_begun(const Member& member) {
  const std::scoped_lock lock(mutex_);
  return std::any_of(running_.begin(), running_.end(), [&](const auto& each) {
    return each->asked.member == &member && each->stage != Running::Stage::begun;
  });
}

bool NonblockingCalls::is_any_of(const Member& member) {
  const std::scoped_lock lock(mutex_);
  return std::any_of(running_.begin(), running_.end(),
                     [&](const auto& each) { return each->asked.member == &member; });
}

}  // namespace polypath::mpi
