#include "mpi/nonblocking.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/log.h"
#include "mpi/kept_request.h"

namespace polypath::mpi {

struct NonblockingCalls::Running {
  explicit Running(NonblockingCall begun) : asked(std::move(begun)) {}

  [[nodiscard]] Turn::State state() const { return own ? own->state() : Turn::State::mpis; }
  [[nodiscard]] bool is_begun() const { return state() == Turn::State::ours || is_begun_in_mpi; }
  /// Whether MPI's calls of the communicator behind it must wait for it.
  [[nodiscard]] bool holds_up() const { return !is_begun() && asked.announcements == nullptr; }

  NonblockingCall asked;
  std::unique_ptr<ProgramRequest> request;
  Result result = kSuccess;
  std::unique_ptr<OwnCall> own;  ///< null: it cannot be ours
  bool is_begun_in_mpi = false;
  Handle inner = 0;  ///< MPI's own request
};

NonblockingCalls::NonblockingCalls(const Library& library, Open open, GpuOf gpu_of, Turns& turns,
                                   Counts& counts)
    : library_(library), open_(std::move(open)), gpu_of_(gpu_of), turns_(turns), counts_(counts) {}

NonblockingCalls::~NonblockingCalls() = default;

Result NonblockingCalls::begin(NonblockingCall call, void* request) {
  Result result = kSuccess;
  auto kept = std::make_unique<KeptRequest>(library_, request, result);
  if (result == kSuccess) begin(std::move(call), std::move(kept));
  return result;
}

// A call that cannot be ours is begun at once, as MPI begins its own.
void NonblockingCalls::begin(NonblockingCall call, std::unique_ptr<ProgramRequest> request) {
  auto made = std::make_unique<Running>(std::move(call));
  made->request = std::move(request);
  NonblockingCall& asked = made->asked;
  const auto wait = [this] { go_on(), turns_.go_on(); };
  const bool may_be_ours = asked.member != nullptr && is_asked(asked.buffers);
  if (may_be_ours) {
    Announcements& beside =
        asked.announcements != nullptr ? *asked.announcements : asked.member->announcements();
    made->own = std::make_unique<OwnCall>(*asked.member, beside, asked.call, asked.gpu, open_);
    made->own->announce(turns_, asked.buffers, wait);
  } else if (asked.member != nullptr) {
    asked.member->announcements().make_room(wait);
    asked.member->announcements().announce(asked.buffers);
  }
  ++count_;
  {
    const std::scoped_lock lock(mutex_);
    running_.push_back(std::move(made));
    if (!may_be_ours) begin_all_in_mpi();
  }
  turns_.go_on();
  turns_.go_on_by_itself();
}

// What is completed in here may ask MPI for something, which comes back here.
void NonblockingCalls::go_on() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || goes_on_) return;
  goes_on_ = true;
  begin_all_in_mpi();
  std::erase_if(running_, [&](const std::unique_ptr<Running>& each) {
    if (!each->is_begun() || !is_over(*each)) return false;
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
    if (each->state() == Turn::State::waiting && each->holds_up()) held.push_back(member);
    if (each->state() != Turn::State::mpis || each->is_begun_in_mpi) continue;
    if (member != nullptr && std::find(held.begin(), held.end(), member) != held.end()) continue;
    each->is_begun_in_mpi = true;
    try {
      begin_in_mpi(*each);
    } catch (const Error& error) {
      fail(*each, error.what());
    }
  }
}

void NonblockingCalls::begin_in_mpi(Running& running) {
  NonblockingCall& asked = running.asked;
  const void* send = asked.call.send.memory;
  void* receive = asked.call.receive.memory;
  if (asked.gpu >= 0) counts_.count(asked.call.operation, asked.fate);
  if (asked.gpu >= 0 && !library_.takes_gpu_memory()) {
    counts_.note_staging();
    if (asked.copies != nullptr) asked.copies->take();
    else
      asked.copies =
          std::make_shared<HostCopies>(library_, open_(GpusOf::process), asked.call, gpu_of_);
    send = asked.copies->send();
    receive = asked.copies->receive();
  }
  running.result = asked.start(asked.call.comm, send, receive, &running.inner);
  if (running.result != kSuccess) running.inner = library_.no_request;
}

bool NonblockingCalls::is_over(Running& running) {
  try {
    return running.is_begun_in_mpi ? is_over_in_mpi(running) : running.own->is_over();
  } catch (const Error& error) {
    if (!running.is_begun_in_mpi) running.asked.member->abort(error.what());
    fail(running, error.what());
    return true;
  }
}

bool NonblockingCalls::is_over_in_mpi(Running& running) const {
  if (library_.handle(running.inner) == library_.no_request || running.inner == 0) return true;
  int flag = 0;
  const Result result = library_.real.Test(&running.inner, &flag, library_.status_ignore);
  if (result != kSuccess) running.result = result;
  if (result == kSuccess && flag == 0) return false;
  if (running.asked.copies) running.asked.copies->give_back();
  return true;
}

void NonblockingCalls::fail(Running& running, const char* why) const noexcept {
  log(LogLevel::error, fmt::format("MPI i{}: {}", name_of(running.asked.call.operation), why));
  running.result = library_.other_error;
}

// Where the program's handler comes back, its next wait says so.
void NonblockingCalls::complete(Running& running) {
  if (!running.is_begun_in_mpi) counts_.count(running.asked.call.operation, Fate::ours);
  const Result lost = running.request->complete(running.result);
  if (lost != kSuccess) {
    library_.real.Comm_call_errhandler(running.asked.call.comm, lost);
    error_ = lost;
  }
  --count_;
}

bool NonblockingCalls::has_not_begun(const Member& member) {
  const std::scoped_lock lock(mutex_);
  return std::any_of(running_.begin(), running_.end(), [&](const auto& each) {
    return each->asked.member == &member && each->holds_up();
  });
}

bool NonblockingCalls::is_any_of(const Member& member) {
  const std::scoped_lock lock(mutex_);
  return std::any_of(running_.begin(), running_.end(),
                     [&](const auto& each) { return each->asked.member == &member; });
}

}  // namespace polypath::mpi
