#include "ways/python/collective_rank.h"

#include <unistd.h>

#include <utility>

#include "core/error.h"

namespace nb = nanobind;

namespace polypath::python {
namespace {

CollectiveCall call_of(const CollectiveArgument& argument) {
  return {.collective = parse_collective(argument.collective),
          .reduction = {.operation = parse_reduce_operator(argument.reduction),
                        .type = parse_element_type(argument.type)},
          .root = argument.root,
          .elements = argument.elements,
          .input = {argument.input},
          .output = {argument.output},
          .counts = argument.counts,
          .in_place = argument.in_place};
}

std::unique_ptr<RankCollectives> join(const Context& context, const std::string& gpu,
                                      std::unique_ptr<Bootstrap> bootstrap) {
  const OpenMachine& opened = context.opened();
  auto communicator =
      std::make_unique<Communicator>(std::move(bootstrap), communicator_options(opened.settings()));
  return std::make_unique<RankCollectives>(opened.driver(), opened.machine(), opened.settings(),
                                           opened.machine().find_place(gpu),
                                           std::move(communicator));
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

CollectiveRank::CollectiveRank(ContextPointer context, const std::string& gpu,
                               std::unique_ptr<Bootstrap> bootstrap)
    : context_(std::move(context)),
      gpu_(gpu),
      rank_(bootstrap->rank()),
      size_(bootstrap->size()),
      process_(getpid()),
      ranks_(join(*context_, gpu, std::move(bootstrap))) {}

CollectiveRank::~CollectiveRank() {
  const nb::gil_scoped_release unlocked;  // it waits for what is queued
  if (getpid() == process_) ranks_.reset();
  else (void)ranks_.release();
}

RankCollectives& CollectiveRank::ranks() const {
  if (ranks_) return *ranks_;
  fail(ErrorCode::invalid_argument, "the collectives are closed",
       "close() or the end of 'with' closes them", "Make others.");
}

// The interpreter's lock is free before the mutex is asked for: who holds that may wait for ranks
// whose functions are Python's.
void CollectiveRank::run(const CollectiveArgument& argument, nb::handle stream) {
  const StreamHandle handle = handle_of(context_, gpu_, stream);
  const nb::gil_scoped_release unlocked;
  const std::scoped_lock lock(mutex_);
  ranks().run(call_of(argument), handle);
}

void CollectiveRank::prepare(const CollectiveArgument& argument) {
  const nb::gil_scoped_release unlocked;
  const std::scoped_lock lock(mutex_);
  ranks().prepare(call_of(argument));
}

nb::dict CollectiveRank::chosen(const CollectiveArgument& argument) {
  CollectiveDraft draft;
  {
    const nb::gil_scoped_release unlocked;
    const std::scoped_lock lock(mutex_);
    draft = ranks().chosen(call_of(argument));
  }
  nb::dict result;
  result["algorithm"] = draft.algorithm->name;
  result["executor"] = name_of(draft.executor);
  result["piece_bytes"] = draft.tuning.piece.value;
  result["several_paths"] = draft.tuning.several_paths;
  result["predicted_seconds"] = draft.predicted.value;
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
  const StreamHandle handle = handle_of(context_, gpu_, stream);
  const nb::gil_scoped_release unlocked;
  const std::scoped_lock lock(mutex_);
  ranks().barrier(handle);
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
