#include "mpi/nonblocking.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
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
  bool is_begun = false;
  std::optional<EventHandle> event;  ///< on the GPU
  std::unique_ptr<HostCopies> copies;
  Handle inner = 0;  ///< MPI's own request
};

NonblockingCalls::NonblockingCalls(const Library& library, Around around, GpuOf gpu_of,
                                   Counts& counts)
    : library_(library), around_(std::move(around)), gpu_of_(gpu_of), counts_(counts) {}

NonblockingCalls::~NonblockingCalls() = default;

void NonblockingCalls::stop() noexcept {
  {
    const std::scoped_lock lock(mutex_);
    stops_ = true;
  }
  asked_.notify_all();
  if (worker_.joinable()) worker_.join();
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
  if (Member* const member = made->asked.member)
    made->number = member->announce(made->asked.buffers, [this] { go_on(); });
  const std::scoped_lock lock(mutex_);
  ++count_;
  ++not_begun_;
  running_.push_back(std::move(made));
  begin_all(By::program);
  if (not_begun_ == 0) return kSuccess;
  if (!worker_.joinable()) worker_ = std::thread([this] { work(); });
  asked_.notify_all();
  return kSuccess;
}

// Other ranks take as long as they like to come: the longer, the less often they are looked for.
void NonblockingCalls::work() {
  using std::chrono::microseconds;
  constexpr microseconds kLeast{20}, kMost{1000};
  for (microseconds pause = kLeast;;) {
    std::unique_lock lock(mutex_);
    asked_.wait(lock, [this] { return stops_ || not_begun_ > 0; });
    if (stops_) return;
    const int before = not_begun_;
    begin_all(By::worker);
    pause = not_begun_ < before ? kLeast : std::min(2 * pause, kMost);
    lock.unlock();
    std::this_thread::sleep_for(pause);
  }
}

// Calls of a communicator are begun in order.
void NonblockingCalls::begin_all(By by) {
  if (not_begun_ == 0) return;
  std::vector<const Member*> held;
  for (const auto& each : running_) {
    const Member* const member = each->asked.member;
    if (each->is_begun || std::find(held.begin(), held.end(), member) != held.end()) continue;
    if (!begin_now(*each, by)) held.push_back(member);
  }
}

// What is completed in here may ask MPI for something, which comes back here.
void NonblockingCalls::go_on() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || goes_on_) return;
  goes_on_ = true;
  begin_all(By::program);
  std::erase_if(running_, [&](const std::unique_ptr<Running>& each) {
    if (!each->is_begun || !is_over(*each)) return false;
    complete(*each);
    return true;
  });
  goes_on_ = false;
}

bool NonblockingCalls::begin_now(Running& running, By by) {
  const NonblockingCall& asked = running.asked;
  try {
    if (asked.buffers == Buffers::ours) {
      const auto agreed = asked.member->is_ours(running.number);
      if (!agreed) return false;
      if (*agreed && asked.member->why_not().empty()) begin_ours(running);
    }
    if (!running.event && by == By::worker) return false;
    if (!running.event) begin_in_mpi(running);
  } catch (const Error& error) {
    fail(running, error.what());
  }
  running.is_begun = true;
  --not_begun_;
  return true;
}

void NonblockingCalls::begin_ours(Running& running) {
  Member& member = *running.asked.member;
  if (!member.enqueue(running.asked.call, running.asked.gpu, around_(), Member::By::itself)) return;
  running.event = member.record();
  counts_.count(running.asked.call.operation, Fate::ours);
}

void NonblockingCalls::begin_in_mpi(Running& running) {
  const NonblockingCall& asked = running.asked;
  const void* send = asked.call.send.memory;
  void* receive = asked.call.receive.memory;
  if (asked.gpu >= 0) {
    counts_.count(asked.call.operation, asked.fate);
    running.copies = std::make_unique<HostCopies>(library_, around_(), asked.call, gpu_of_);
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

void NonblockingCalls::fail(Running& running, const char* why) noexcept {
  log(LogLevel::error, fmt::format("MPI i{}: {}", name_of(running.asked.call.operation), why));
  running.state->result = library_.other_error;
}

void NonblockingCalls::complete(Running& running) {
  if (running.event) running.asked.member->give_back(*running.event);
  --count_;
  library_.real.Grequest_complete(running.request);
}

bool NonblockingCalls::wait_for_ranks(const Member& member) {
  const std::scoped_lock lock(mutex_);
  return std::any_of(running_.begin(), running_.end(), [&](const auto& each) {
    return each->asked.member == &member && !each->is_begun;
  });
}

bool NonblockingCalls::is_any_of(const Member& member) {
  const std::scoped_lock lock(mutex_);
  return std::any_of(running_.begin(), running_.end(),
                     [&](const auto& each) { return each->asked.member == &member; });
}

}  // namespace polypath::mpi
