#include "ways/python/collective_rank.h"

#include <nanobind/stl/string.h>
#include <unistd.h>

#include <utility>

#include "core/error.h"

namespace nb = nanobind;

namespace polypath::python {
namespace {

std::unique_ptr<Collectives> join(const Context& context, const RankPlace& place,
                                  std::unique_ptr<Bootstrap> bootstrap) {
  const OpenMachine& opened = context.opened();
  CommunicatorOptions options = communicator_options(opened.settings());
  options.node = place.node;
  auto communicator = std::make_unique<Communicator>(std::move(bootstrap), options);
  return std::make_unique<Collectives>(opened.driver(), opened.machine(), opened.settings(),
                                       place.gpu, std::move(communicator), place.host);
}

}  // namespace

Meeting::Meeting(int size) {
  if (size < 1)
    fail(ErrorCode::invalid_argument, "nobody can meet", "there are no ranks",
         "Pass the number of ranks.");
  ends_ = bootstrap_among_threads(size);
}

std::unique_ptr<Bootstrap> Meeting::enter(int rank) {
  check_rank(rank, size());
  const std::scoped_lock lock(mutex_);
  auto end = std::move(ends_[static_cast<std::size_t>(rank)]);
  if (end) return end;
  fail(ErrorCode::invalid_argument, "rank " + std::to_string(rank) + " is there twice",
       "each rank of a meeting comes once", "Give each thread a rank of its own.");
}

CollectiveRank::CollectiveRank(ContextPointer context, const RankPlace& place,
                               std::unique_ptr<Bootstrap> bootstrap)
    : context_(std::move(context)),
      process_(getpid()),
      ranks_(join(*context_, place, std::move(bootstrap))),
      gpu_(ranks_->gpu()),
      place_(context_->machine().find_place(gpu_)),
      rank_(ranks_->rank()),
      size_(ranks_->size()),
      nodes_(ranks_->nodes()) {}

CollectiveRank::~CollectiveRank() {
  const nb::gil_scoped_release unlocked;  // it waits for what is queued
  if (getpid() == process_) ranks_.reset();
  else (void)ranks_.release();
}

Collectives& CollectiveRank::ranks() const {
  if (ranks_) return *ranks_;
  fail(ErrorCode::invalid_argument, "the collectives are closed",
       "close() or the end of 'with' closes them", "Make others.");
}

// The interpreter's lock is free before the mutex is asked for: who holds that may wait for ranks
// whose functions are Python's.
void CollectiveRank::run(RepeatedCall& call, nb::handle stream) { run(call, this->stream(stream)); }

void CollectiveRank::run(RepeatedCall& call, StreamHandle stream) {
  const nb::gil_scoped_release unlocked;
  const std::scoped_lock lock(mutex_);
  ranks().run(call, stream);
}

void CollectiveRank::prepare(const CollectiveCall& call) {
  const nb::gil_scoped_release unlocked;
  const std::scoped_lock lock(mutex_);
  ranks().prepare(call);
}

nb::dict CollectiveRank::chosen(const CollectiveCall& call) {
  ChosenWay chosen;
  {
    const nb::gil_scoped_release unlocked;
    const std::scoped_lock lock(mutex_);
    chosen = ranks().chosen(call);
  }
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
  const nb::gil_scoped_release unlocked;
  const std::scoped_lock lock(mutex_);
  ranks().choose_from({.executor = parse_executor(executor), .algorithms = algorithms});
}

void CollectiveRank::barrier() {
  const nb::gil_scoped_release unlocked;
  const std::scoped_lock lock(mutex_);
  ranks().barrier();
}

void CollectiveRank::barrier(nb::handle stream) {
  const StreamHandle handle = this->stream(stream);
  const nb::gil_scoped_release unlocked;
  const std::scoped_lock lock(mutex_);
  ranks().barrier(handle);
}

void CollectiveRank::await_messages() {
  const nb::gil_scoped_release unlocked;
  const std::scoped_lock lock(mutex_);
  ranks().await_messages();
}

void CollectiveRank::close() {
  const nb::gil_scoped_release unlocked;
  const std::scoped_lock lock(mutex_);
  ranks_.reset();
}

void CollectiveRank::abandon(const std::string& why) {
  const nb::gil_scoped_release unlocked;
  const std::scoped_lock lock(mutex_);
  if (!ranks_) return;
  ranks_->communicator().abort("Rank " + std::to_string(rank_) + " has given up (" + why +
                               ") Correct that first.");
  ranks_.reset();
}

}  // namespace polypath::python
