#include "mpi/threaded_transport.h"

#include <sched.h>

#include <utility>

#include "communicator/bootstrap/deadline.h"
#include "core/ignore_errors.h"

namespace polypath::mpi {
namespace {

constexpr Seconds kUntilTold{1};

}  // namespace

void MpiLife::end() {
  const std::scoped_lock lock(mutex_);
  has_ended_ = true;
}

bool MpiLife::has_ended() {
  const std::scoped_lock lock(mutex_);
  return has_ended_;
}

ThreadedTransport::ThreadedTransport(Library library, Handle comm, int rank, int size,
                                     std::shared_ptr<MpiLife> life)
    : Transport(rank, size),
      library_(library),
      comm_(comm),
      life_(std::move(life)),
      messages_(library_, comm, rank, size) {}

ThreadedTransport::~ThreadedTransport() {
  if (!is_finished_) tell_others();
  const bool is_over = is_finished_ && !is_aborted_ && !messages_.is_busy();
  const auto free_it = [this] { library_.real.Comm_free(&comm_); };
  while (is_over && !life_->attempt(free_it) && !life_->has_ended()) sched_yield();
}

void ThreadedTransport::tell_others() noexcept {
  ignore_errors([this] {  // with the words of the rank that has given up first, if one has
    const Error ended(ErrorCode::communicator, "its collectives have ended");
    const Error why = failure().value_or(ended);
    abort(why.what(), why.code());
  });
  const Deadline deadline(kUntilTold);
  while (!messages_.has_told_others() && !life_->has_ended() && !deadline.has_passed()) {
    progress();
    sched_yield();
  }
}

// A thread that finds another one in MPI has nothing to do.
void ThreadedTransport::progress() {
  life_->attempt([this] { messages_.progress(); });
}

void ThreadedTransport::name_nodes(const Nodes& nodes) {
  Transport::name_nodes(nodes);
  messages_.name_nodes(nodes);
}

bool ThreadedTransport::test(MessageNumber message) {
  progress();
  if (messages_.test(message)) return true;
  if (!life_->has_ended()) return false;
  fail(ErrorCode::communicator,
       "rank " + std::to_string(rank()) + " waits for " + messages_.awaited(message),
       "MPI has been finalized", "Close the collectives before.");
}

void ThreadedTransport::abort(const std::string& why, ErrorCode code) {
  is_aborted_ = true;
  messages_.abort(why, code);
  progress();
}

std::optional<Error> ThreadedTransport::failure() {
  progress();
  return messages_.failure();
}

bool ThreadedTransport::is_busy() {
  progress();
  return messages_.is_busy() && !life_->has_ended();
}

MessageNumber ThreadedTransport::start_sending(int to, std::uint32_t tag,
                                               std::span<const std::byte> bytes) {
  return messages_.send(to, tag, bytes);
}

MessageNumber ThreadedTransport::start_receiving(int from, std::uint32_t tag,
                                                 std::span<std::byte> bytes) {
  return messages_.receive(from, tag, bytes);
}

}  // namespace polypath::mpi
