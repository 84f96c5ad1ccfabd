#include "api/python/collective_rank.h"

#include <nanobind/stl/string.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "api/python/closing.h"
#include "api/python/ctrl_c.h"
#include "collective/make_collectives.h"
#include "core/error.h"
#include "core/ignore_errors.h"
#include "core/interruption.h"

namespace nb = nanobind;

namespace polypath::python {
namespace {

std::unique_ptr<Transport> connect(Communicator& communicator, OwnMessages* own,
                                   const std::string& host, std::string& carrier) {
  if (own != nullptr && own->serve(communicator)) {
    carrier = own->carrier();
    return own->connect(communicator);
  }
  carrier = "tcp";
  return transport_by_tcp(communicator, host);
}

// Fields that `place` leaves empty are discovered.
std::unique_ptr<Collectives> join(const Context& context, RankPlace& place,
                                  std::unique_ptr<Bootstrap> bootstrap, Seconds timeout,
                                  OwnMessages* own, std::string& carrier) {
  const OpenMachine& opened = context.opened();
  const EndsByCtrlC ends_by_ctrl_c;
  CommunicatorOptions options = communicator_options(opened.settings());
  const Seconds in_calls = std::exchange(options.timeout, timeout);
  if (!place.node.empty()) options.node = place.node;
  auto communicator = std::make_unique<Communicator>(std::move(bootstrap), options);
  const auto computer = [&] {
    const OpenMachine& whole = whole_computer(opened.settings());
    return ranks_machine(whole, whole.driver());
  };
  auto ranks = make_collectives(
      ranks_machine(opened, opened.driver()), computer, place.gpu, std::move(communicator),
      [&](Communicator& all) { return connect(all, own, place.host, carrier); });
  ranks->set_timeout(in_calls);
  return ranks;
}

}  // namespace

ThreadGroup::ThreadGroup(int size) {
  if (size < 1)
    fail(ErrorCode::invalid_argument, "ranks cannot meet", "there are none",
         "Pass the number of ranks.");
  ends_ = bootstrap_among_threads(size);
}

std::unique_ptr<Bootstrap> ThreadGroup::enter(int rank) {
  check_rank(rank, size());
  const std::scoped_lock lock(mutex_);
  auto end = std::move(ends_[static_cast<std::size_t>(rank)]);
  if (end) return end;
  fail(ErrorCode::invalid_argument, "rank " + std::to_string(rank) + " is there twice",
       "each rank of a meeting comes once", "Give each thread a rank of its own.");
}

CollectiveRank::CollectiveRank(ContextPointer context, RankPlace place,
                               std::unique_ptr<Bootstrap> bootstrap, Seconds timeout,
                               std::shared_ptr<OwnMessages> messages)
    : context_(std::move(context)),
      process_(getpid()),
      ranks_(join(*context_, place, std::move(bootstrap), timeout, messages.get(), carrier_)),
      gpu_(std::move(place.gpu)),
      place_(context_->machine().find_place(gpu_)),
      rank_(ranks_->rank()),
      size_(ranks_->size()),
      nodes_(ranks_->nodes()) {
  health_->begin(ranks_->communicator());
}

// A failure here shows only in the program's exit status.
CollectiveRank::~CollectiveRank() {
  const nb::gil_scoped_release unlocked;  // it waits for what is queued
  if (is_elsewhere()) (void)ranks_.release();
  if (!ranks_) return;
  Ending ending{context_, std::move(ranks_), health_};
  if (ends_beside_) Closing::of_process().begin(std::move(ending));
  else (void)ignore_errors([&] { Closing::of_process().end(std::move(ending)); });
}

bool CollectiveRank::is_elsewhere() const { return getpid() != process_; }

Collectives& CollectiveRank::ranks() const {
  if (ranks_) return *ranks_;
  fail(ErrorCode::invalid_argument, "the collectives are closed",
       "close() or the end of 'with' closes them", "Make others.");
}

std::unique_lock<std::timed_mutex> CollectiveRank::turn() {
  constexpr std::chrono::milliseconds kBetweenChecks{50};
  std::unique_lock lock(mutex_, std::defer_lock);
  while (!lock.try_lock_for(kBetweenChecks)) check_interruption();
  return lock;
}

// The interpreter's lock is released before the mutex is taken: the thread that holds the mutex may
// wait for ranks whose functions are Python's.
template <class Action>
auto CollectiveRank::in_turn(Action action) {
  const nb::gil_scoped_release unlocked;
  const EndsByCtrlC ends_by_ctrl_c;
  const auto lock = turn();
  try {
    return action(ranks());
  } catch (const Error&) {
    health_->note_told();
    throw;
  }
}

void CollectiveRank::note_use(nb::handle stream) {
  if (nb::isinstance<Stream>(stream)) nb::cast<Stream&>(stream).users.add(health_);
}

void CollectiveRank::run(PersistentCall& call, nb::handle stream) {
  run(call, this->stream(stream));
  note_use(stream);
}

void CollectiveRank::run(PersistentCall& call, StreamHandle stream) {
  in_turn([&](Collectives& ranks) { ranks.run(call, stream); });
}

void CollectiveRank::prepare(const CollectiveCall& call) {
  in_turn([&](Collectives& ranks) { ranks.prepare(call); });
}

nb::dict CollectiveRank::chosen(const CollectiveCall& call) {
  const ChosenWay chosen = in_turn([&](Collectives& ranks) { return ranks.chosen(call); });
  nb::dict result;
  result["algorithm"] = chosen.algorithm;
  result["executor"] = name_of(chosen.executor);
  result["piece_bytes"] = chosen.piece.value;
  result["several_paths"] = chosen.several_paths;
  if (chosen.predicted) result["predicted_seconds"] = chosen.predicted->value;
  else result["predicted_seconds"] = nb::none();
  return result;
}

void CollectiveRank::choose_from(const std::vector<std::string>& algorithms,
                                 const std::string& executor) {
  in_turn([&](Collectives& ranks) {
    ranks.choose_from({.executor = parse_executor(executor), .algorithms = algorithms});
  });
}

void CollectiveRank::barrier() {
  in_turn([](Collectives& ranks) { ranks.barrier(); });
}

void CollectiveRank::barrier(nb::handle stream) {
  const StreamHandle handle = this->stream(stream);
  in_turn([&](Collectives& ranks) { ranks.barrier(handle); });
  note_use(stream);
}

void CollectiveRank::await_messages() {
  in_turn([](Collectives& ranks) { ranks.await_messages(); });
}

void CollectiveRank::synchronize() {
  const nb::gil_scoped_release unlocked;
  const EndsByCtrlC ends_by_ctrl_c;
  const auto lock = turn();
  ranks().synchronize();
}

void CollectiveRank::finish_call(Stream& stream) {
  const nb::gil_scoped_release unlocked;
  try {
    stream.synchronize();
  } catch (const Error&) {
    health_->note_told();
    throw;
  }
}

void CollectiveRank::close() {
  if (is_elsewhere()) return;
  const nb::gil_scoped_release unlocked;
  const EndsByCtrlC ends_by_ctrl_c;
  const auto lock = turn();
  end();
}

// A program that has been told by a call what is wrong, and goes on, knows what it does.
void CollectiveRank::end() {
  if (!ranks_) return;
  const bool is_known = health_->is_known();
  Ending ending{context_, std::move(ranks_), health_};
  const auto problem = ending.close();
  if (!problem || is_known) return;
  health_->note_told();
  throw Error(*problem);
}

void CollectiveRank::abandon(const std::string& why) {
  if (is_elsewhere()) return;
  const nb::gil_scoped_release unlocked;
  const auto lock = turn();
  if (!ranks_) return;
  ranks_->communicator().abort("Rank " + std::to_string(rank_) + " has given up (" + why +
                               ") Correct that first.");
  Ending ending{context_, std::move(ranks_), health_};
  (void)ending.close();
  health_->note_told();
}

}  // namespace polypath::python
