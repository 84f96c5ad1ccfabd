#include "collective/rank/node_collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <system_error>
#include <utility>

#include "collective/program/collective_kernels.h"
#include "collective/program/tuning.h"
#include "collective/rank/checked_call.h"
#include "collective/rank/ending.h"
#include "collective/rank/rank_trial.h"
#include "collective/rank/timeouts.h"
#include "communicator/terms.h"
#include "core/error.h"
#include "core/hash.h"
#include "core/ignore_errors.h"
#include "core/log.h"
#include "machine/load_machine.h"

namespace polypath::collective {
namespace {

std::string said(const Machine& machine, PlaceId gpu) {
  return fmt::format("{}, {} places, {}", machine.name, machine.places.size(),
                     machine.place(gpu).name);
}

// One simulation has no memory of another one. All ranks know it before any of them asks for that.
void check_simulation(const Driver& driver, Communicator& communicator) {
  const std::vector<Blob> all = communicator.all_gather(driver.simulation());
  const auto other =
      std::find_if(all.begin(), all.end(), [&](const Blob& each) { return each != all.front(); });
  if (other == all.end()) return;
  fail(ErrorCode::unsupported, "simulated ranks cannot be in different processes or contexts",
       fmt::format("each simulates a machine of its own, and rank {} another one than rank 0",
                   other - all.begin()),
       "Let them be threads that share one context, or use real GPUs.");
}

// The GPUs of all ranks, from what each has said.
std::vector<PlaceId> ranks_of(const Driver& driver, const Machine& machine, PlaceId own,
                              Communicator& communicator) {
  const std::vector<Blob> all = communicator.all_gather(said(machine, own));
  check_simulation(driver, communicator);
  std::vector<PlaceId> ranks;
  for (const Blob& each : all) {
    const auto gpus = machine.places_of(PlaceKind::gpu);
    const auto gpu = std::find_if(gpus.begin(), gpus.end(),
                                  [&](PlaceId place) { return said(machine, place) == each; });
    if (gpu == gpus.end())
      fail(ErrorCode::invalid_argument, "the ranks are not on one machine",
           fmt::format("rank {} says {}", ranks.size(), each),
           "Let all ranks see the same GPUs, and use the same machine.");
    if (std::find(ranks.begin(), ranks.end(), *gpu) != ranks.end())
      fail(ErrorCode::invalid_argument, fmt::format("two ranks have {}", machine.place(*gpu).name),
           "each needs a GPU of its own", "Give each rank another one.");
    ranks.push_back(*gpu);
  }
  return ranks;
}

// The settings that determine programs and the places of their slots. Plans of several paths are
// made at each rank, too.
std::vector<Term> terms_of(const Settings& settings) {
  static const std::set<std::string> kCounts = {"POLYPATH_PEER_ACCESS",
                                                "POLYPATH_PATHS",
                                                "POLYPATH_EXCLUDE",
                                                "POLYPATH_MAX_PATHS",
                                                "POLYPATH_MIN_CHUNK",
                                                "POLYPATH_COLLECTIVE_SCRATCH",
                                                "POLYPATH_COLLECTIVE_MULTIPROCESSORS"};
  std::vector<Term> terms;
  for (const SettingDescription& setting : describe_settings(settings))
    if (kCounts.contains(setting.variable)) terms.push_back({setting.variable, setting.value});
  return terms;
}

std::unique_ptr<Communicator> on_agreed_terms(std::unique_ptr<Communicator> communicator,
                                              const Settings& settings) {
  agree_on(*communicator, terms_of(settings));
  return communicator;
}

// False if another rank has failed before: its error counts.
bool tell(Communicator& communicator, const Error& error) noexcept {
  return ignore_errors([&] {
    communicator.check();
    communicator.abort(error.what());
  });
}

[[noreturn]] void fail_to_capture() {
  fail(ErrorCode::unsupported, "a first call cannot be captured",
       "what it needs is made by all ranks together", "Prepare it, or run it once before.");
}

}  // namespace

NodeCollectives::NodeCollectives(Driver& driver, const Machine& machine, const Settings& settings,
                                 PlaceId gpu, std::unique_ptr<Communicator> communicator)
    : driver_(driver),
      machine_(machine),
      communicator_(on_agreed_terms(std::move(communicator), settings)),
      ranks_(ranks_of(driver, machine, gpu, *communicator_)),
      run_(or_abort(*communicator_,
                    [&] {
                      return std::make_unique<RankRun>(
                          driver, machine, settings,
                          RankRun::Group{.ranks = ranks_,
                                         .rank = rank(),
                                         .all_gather = all_gather_by(*communicator_),
                                         .tell = [this](const Error& error) {
                                           return tell(*communicator_, error);
                                         }});
                    })),
      programs_(std::make_unique<KnownPrograms>(machine, settings, ranks_, *communicator_, *run_,
                                                has_collective_kernels(driver))),
      open_(or_abort(*communicator_,
                     [&] {
                       return std::make_unique<PeerRegistration>(driver, gpu, rank(),
                                                                 communicator_->handles(),
                                                                 communicator_->agreements());
                     })),
      kinds_(*programs_, rank(), size()),
      copies_(driver, gpu, rank()),
      parts_(*run_, *open_, *programs_, rank(), size()) {
  or_abort(*communicator_, [&] {
    try_rank_memory(driver, machine, ranks_, rank(), flags_place(machine, ranks_, rank()),
                    all_gather_by(*communicator_));
  });
  communicator_->on_abort([this] { release_when_aborted(); });
}

NodeCollectives::~NodeCollectives() {
  ignore_errors([&] { close(); });
  leave();
}

void NodeCollectives::close() {
  if (is_closed_) return;
  const LeavesInTheEnd leaves(*this);
  end_together([&](const Blob& mine) { return communicator_->all_gather(mine, kClosing); },
               [&] { run_->synchronize(); });
}

// After an abort, or when a rank has ended, calls are not waited for, but queued work of other
// ranks is: it uses this rank's memory. Memory that may still be used is kept.
//
// Ranks that plan alone have kernels only: their messages to a rank have arrived when the rank's
// own kernel ends.
void NodeCollectives::leave() noexcept {
  if (std::exchange(is_closed_, true)) return;
  bool is_settled = settle();
  const bool waits = !programs_->plans_alone() || !ignore_errors([&] { communicator_->check(); });
  communicator_->close();
  if (release_.joinable()) release_.join();
  (void)ignore_errors([&] { is_settled = is_settled || run_->is_idle(); });
  if (is_settled) communicator_->note_settled();
  if (!waits && is_settled) return;
  if (communicator_->await_settled(kPeerTimeout) && is_settled) return;
  log(LogLevel::warning, "memory of collectives stays in use: what is queued does not end");
  open_->abandon();
  (void)run_.release(), (void)open_.release();
}

// False after an abort: then it is released.
bool NodeCollectives::settle() noexcept {
  const auto check = [&] { communicator_->check(); };
  if (ignore_errors(check)) (void)ignore_errors([&] { run_->synchronize(); });
  return await_end([&] { return run_->is_idle(); }, check, Seconds{});
}

void NodeCollectives::synchronize() {
  const bool is_over = ignore_errors([&] { run_->synchronize(); });
  communicator_->check();
  if (!is_over) run_->synchronize();
}

// The abort callback must not block. If no thread can be created, waits on the GPU stay.
void NodeCollectives::release_when_aborted() {
  try {
    release_ = std::thread([this] {
      ignore_errors([&] {
        if (run_->release(kGpuTimeout)) communicator_->note_settled();
      });
    });
  } catch (const std::system_error& error) {
    log(LogLevel::warning, fmt::format("what waits on the GPU is not released: {}", error.what()));
  }
}

void NodeCollectives::choose_from(const CollectiveOptions& options) {
  programs_->choose_from(options);
}

// If one rank failed alone, the others would wait for it. A failure because another rank has gone
// is reported with that rank's error. A call that all ranks refuse together, before anything is
// enqueued, changes nothing.
template <class Action>
void NodeCollectives::for_all(Action action) {
  try {
    action();
  } catch (const RefusedByAll&) {
    throw;
  } catch (const Error& error) {
    if (run_->take_told()) throw;
    communicator_->check();
    communicator_->abort(error.what());
    throw;
  }
}

void NodeCollectives::plan_alone(const CollectiveOptions& options,
                                 const std::vector<CollectiveCall>& samples) {
  agree_on(*communicator_,
           {{"the machine", std::to_string(Hash().add(machine_to_json(machine_)).value())}});
  choose_from(options);
  programs_->plan_alone();
  for_all([&] {
    run_->prepare_kernels();
    for (const CollectiveCall& sample : samples) (void)programs_->of(kinds_.of(sample));
  });
  programs_->keep_to_this_memory();
}

void NodeCollectives::prepare(const CollectiveCall& call) {
  const CollectiveRequest kind = kinds_.of(call);
  if (programs_->find(kind) != nullptr) return;
  check_call(machine_, programs_->request_of(kind));
  if (kinds_.stays_at_home(call)) return;
  const std::vector<CollectiveCall> all = kinds_.rounds(call, kind);
  if (all.size() == 1) return for_all([&] { (void)programs_->of(kind); });
  // The first one last: of very many programs those that were made first are forgotten.
  for (auto round = all.rbegin(); round != all.rend(); ++round) prepare(*round);
}

ChosenWay NodeCollectives::chosen(const CollectiveCall& call) {
  if (kinds_.stays_at_home(call)) return {.algorithm = "copy", .piece = {}, .predicted = {}};
  const CollectiveDraft draft = draft_of(call);
  return {.algorithm = draft.algorithm->name,
          .executor = draft.executor,
          .piece = draft.tuning.piece,
          .several_paths = draft.tuning.several_paths,
          .predicted = draft.predicted};
}

CollectiveDraft NodeCollectives::draft_of(const CollectiveCall& call) const {
  const CollectiveRequest kind = kinds_.of(call);
  const CollectiveRequest first = kinds_.of(kinds_.rounds(call, kind).front());
  const CallPrograms* const made = programs_->find(first);
  if (made == nullptr)
    fail(ErrorCode::invalid_argument, "nothing has been chosen for such a call",
         "it was never prepared", "Prepare or run it first.");
  CollectiveDraft draft = made->open.program ? made->open.draft : made->usual.draft;
  draft.predicted = draft.predicted * (message_bytes(programs_->request_of(kind)).real() /
                                       message_bytes(programs_->request_of(first)).real());
  return draft;
}

// All but the last one have one program, but for all_to_all_v: that of the last one is there before
// the first one runs, so that either all rounds are refused or none. Calls that differ are found
// before that, as those of one round are.
void NodeCollectives::run_in_rounds(const std::vector<CollectiveCall>& rounds,
                                    StreamHandle stream) {
  const CollectiveRequest last = kinds_.of(rounds.back());
  if (programs_->find(last) == nullptr &&
      (programs_->plans_alone() || !driver_.is_capturing(stream))) {
    if (!programs_->plans_alone())
      for_all([&] { (void)communicator_->all_gather({}, record_of(last)); });
    prepare(rounds.back());
  }
  for (const CollectiveCall& round : rounds) run(round, stream);
}

// `enqueue` returns the number of its run.
template <class Enqueue>
void NodeCollectives::enqueue(const CallRecord& record, bool captured, Enqueue enqueue) {
  const CallNumber number = communicator_->begin(record);
  std::uint64_t run = 0;
  try {
    for_all([&] { run = enqueue(); });
  } catch (const RefusedByAll&) {
    communicator_->watch(number, [] { return true; });
    throw;
  }
  if (!captured) communicator_->watch(number, [this, run] { return run_->is_done(run); });
}

std::uint64_t NodeCollectives::copy_at_home(const CollectiveCall& call,
                                            const CollectiveRequest& kind, StreamHandle stream,
                                            bool captured) {
  if (kind.elements == 0) return 0;
  copies_.copy_at_home(call, programs_->request_of(kind), stream);
  return captured ? 0 : run_->note(stream);
}

// A wrong call is found before the other ranks see anything of it, so it may be corrected.
void NodeCollectives::run(const CollectiveCall& call, StreamHandle stream) {
  const CollectiveRequest kind = kinds_.of(call);
  const CallPrograms* const found = programs_->find(kind);
  if (found == nullptr) check_call(machine_, programs_->request_of(kind));
  check_memory(call, size(), rank());
  const bool at_home = found == nullptr && kinds_.stays_at_home(call);
  if (found == nullptr && !at_home)
    if (const auto all = kinds_.rounds(call, kind); all.size() > 1)
      return run_in_rounds(all, stream);
  const bool captured = driver_.is_capturing(stream);
  if (captured && found == nullptr && !at_home && !programs_->plans_alone()) fail_to_capture();
  enqueue(found == nullptr ? record_of(kind) : found->record, captured, [&] {
    if (at_home) return copy_at_home(call, kind, stream, captured);
    const CallPrograms& made = programs_->of(kind);
    copies_.copy_of_root(call, stream);
    return parts_.run(made, kinds_.buffers_of(call, kind), stream, captured);
  });
}

void NodeCollectives::run(PersistentCall& call, StreamHandle stream) {
  if (call.found_by_ != programs_->number()) {
    run(call.call_, stream);
    return remember(call);
  }
  const bool captured = driver_.is_capturing(stream);
  const BoundPart& part = captured ? call.part_for_capture_ : call.part_;
  enqueue(call.record_, captured, [&] { return run_->run(part, stream, captured); });
}

// Whether memory is registered is asked each time, and a root's own copy is none of the program's.
void NodeCollectives::remember(PersistentCall& call) {
  const CollectiveRequest kind = kinds_.of(call.call_);
  const CallPrograms* const found = programs_->find(kind);
  if (found == nullptr) return;  // it stays at home
  const CallPrograms& made = *found;
  if (made.open.program || has_root(kind.collective)) return;
  const std::vector<Address> buffers = kinds_.buffers_of(call.call_, kind);
  call.part_ = run_->bind(made.usual.in(false), buffers);
  call.part_for_capture_ = run_->bind(made.usual.in(true), buffers);
  call.record_ = made.record, call.found_by_ = programs_->number();
}

void NodeCollectives::barrier(StreamHandle stream) {
  const bool captured = driver_.is_capturing(stream);
  if (captured && !programs_->has_barrier()) fail_to_capture();
  enqueue({.operation = "barrier"}, captured,
          [&] { return run_->run(run_->bind(programs_->barrier(), {}), stream, captured); });
}

void NodeCollectives::barrier() { (void)communicator_->all_gather({}, {.operation = "barrier"}); }

}  // namespace polypath::collective
