// The choice for calls of a kind, by all ranks together at the first such call.

#include "collective/rank/call_programs.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include "collective/division/barrier.h"
#include "collective/program/tuning.h"
#include "collective/rank/checked_call.h"
#include "core/error.h"
#include "core/hash.h"

namespace polypath::collective {
namespace {

// At each of four simulated ranks a node takes 0.24 KiB (all-reduces of 1 GiB by `ring`) to 0.44
// KiB (of 64 MiB by kernels), so these take 16 to 28 MiB.
constexpr std::size_t kMostNodes = 1 << 16;
constexpr std::size_t kNodesOfCall = 4;  // the other cost of a call, in nodes
// Below, kernels with mailboxes are as fast, and to ask for memory would not pay.
constexpr Bytes kOpenFrom = 8_MiB;

// Rank 0's decision, as it lies in memory: all ranks are the same program on the same machine.
struct Choice {
  ShortName algorithm;
  Tuning tuning;
  Executor executor = Executor::stream;
  Seconds predicted;
  bool failed = false;
  ErrorCode code = ErrorCode::internal;
};
static_assert(std::is_trivially_copyable_v<Choice>);

[[noreturn]] void fail_to_divide(const CollectiveRequest& request, const CollectiveDraft& draft) {
  throw RefusedByAll(
      ErrorCode::unsupported,
      fmt::format("{} by '{}' cannot be done by ranks of their own (it copies between GPUs that do "
                  "not reach each other's memory, or needs too many flags) Name host, or another "
                  "algorithm, or auto.",
                  name_of(request.collective), draft.algorithm->name));
}

std::uint64_t next_number() {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

std::size_t size_of(const CallPrograms& made) {
  return kNodesOfCall + made.usual.nodes + made.open.nodes;
}

}  // namespace

KnownPrograms::KnownPrograms(const Machine& machine, const Settings& settings,
                             std::vector<PlaceId> ranks, Communicator& communicator, RankRun& run,
                             bool has_kernels)
    : machine_(machine),
      ranks_(std::move(ranks)),
      communicator_(communicator),
      run_(run),
      usual_{.executor = Executor::stream,
             .private_memory = true,
             .kernels = has_kernels,
             .multiprocessors = static_cast<unsigned>(settings.collective_multiprocessors)},
      options_(usual_),
      planner_(machine, settings),
      routes_(machine, with_collective_slots(settings, machine)),
      kept_(kMostNodes),
      number_(next_number()) {}

void KnownPrograms::choose_from(const CollectiveOptions& options) {
  options_ = options;
  if (options_.multiprocessors == 0) options_.multiprocessors = usual_.multiprocessors;
  options_.private_memory = true;
  options_.kernels = options_.kernels && usual_.kernels;
  if (!options_.executor) options_.executor = Executor::stream;
  kept_.clear();
  number_ = next_number();
}

CollectiveRequest KnownPrograms::request_of(CollectiveRequest kind) const {
  kind.ranks = ranks_;
  return kind;
}

const CallPrograms& KnownPrograms::of(const CollectiveRequest& kind) {
  if (const CallPrograms* const found = find(kind)) return *found;
  CallPrograms made = make(kind);
  const std::size_t size = size_of(made);
  if (kept_.add(kind, std::move(made), size)) number_ = next_number();
  return *find(kind);
}

const RankProgram& KnownPrograms::barrier() {
  if (barrier_) return *barrier_;
  auto parts = barrier_parts(machine_, ranks_, RankRun::Group{}.flags_per_pair);
  auto made = std::make_unique<RankProgram>(std::move(parts[rank()]), Executor::stream);
  run_.prepare(*made);
  barrier_ = std::move(made);
  return *barrier_;
}

// Rank 0 decides. If it cannot decide, all ranks get the error.
Blob KnownPrograms::proposal(const CollectiveRequest& request, const CollectiveOptions& options) {
  if (rank() != 0) return {};
  Choice choice;
  std::string problem;
  try {
    const CollectiveDraft draft = planner_.choose(request, options).chosen();
    choice = {.algorithm = draft.algorithm->name,
              .tuning = draft.tuning,
              .executor = draft.executor,
              .predicted = draft.predicted};
  } catch (const Error& error) {
    choice.failed = true, choice.code = error.code();
    problem = error.what();
  }
  return Blob(reinterpret_cast<const char*>(&choice), sizeof choice) + problem;
}

CollectiveDraft KnownPrograms::chosen_alone(const CollectiveRequest& request,
                                            const CollectiveOptions& options) {
  try {
    return planner_.choose(request, options).chosen();
  } catch (const Error& error) {
    throw RefusedByAll(error.code(), error.what());
  }
}

CollectiveDraft KnownPrograms::agreed(const CollectiveRequest& request,
                                      const CollectiveOptions& options) {
  if (plans_alone()) return chosen_alone(request, options);
  const Blob said = communicator_.all_gather(proposal(request, options)).front();
  Choice choice;
  if (said.size() < sizeof choice)
    fail(ErrorCode::communicator, "what rank 0 has chosen cannot be read", "it ends too early",
         "Let all ranks run the same version.");
  std::memcpy(&choice, said.data(), sizeof choice);
  if (choice.failed) throw RefusedByAll(choice.code, said.substr(sizeof choice));
  return {.algorithm = &find_algorithm(choice.algorithm.text()),
          .tuning = choice.tuning,
          .executor = choice.executor,
          .predicted = choice.predicted};
}

// Several paths, and trees, are planned by each rank, with the numbers of its machine: those of
// another calibration may give another program, whose flags no rank sets.
void KnownPrograms::check_agreed(const std::string& structure) {
  if (plans_alone()) return;
  const std::vector<Blob> all =
      communicator_.all_gather(std::to_string(Hash().add(structure).value()));
  const auto other =
      std::find_if(all.begin(), all.end(), [&](const Blob& each) { return each != all.front(); });
  if (other == all.end()) return;
  fail(ErrorCode::invalid_argument, "the ranks would run different programs",
       fmt::format("rank {} has planned another one than rank 0", other - all.begin()),
       "Let all ranks use the same machine, with the same calibration and settings.");
}

std::unique_ptr<RankProgram> KnownPrograms::part_of(const Program& whole, Executor executor,
                                                    EntryAwaits entries) {
  auto parts = project(machine_, whole, ranks_, RankRun::Group{}.flags_per_pair, entries);
  auto made = std::make_unique<RankProgram>(std::move(parts[rank()]), executor);
  if (planning_ == Planning::alone_in_this_memory && !run_.memory().has_all_for(made->part))
    throw RefusedByAll(ErrorCode::unsupported,
                       "a collective cannot be done (it needs memory that the ranks have not given "
                       "each other) Leave it to others.");
  run_.prepare(*made);
  return made;
}

// Without a program if ranks of their own cannot do it.
CallWay KnownPrograms::make_way(const CollectiveRequest& request,
                                const CollectiveOptions& options) {
  CallWay made{.draft = agreed(request, options)};
  if (made.draft.predicted == Seconds::infinity()) return made;
  const Program whole =
      build(*made.draft.algorithm, machine_, request, made.draft.tuning, &routes_);
  check_agreed(structure_of(whole));
  const Executor executor = made.draft.executor;
  const auto part_in = [&](Executor runs) {
    return part_of(whole, executor, entry_awaits_of(runs, request.collective));
  };
  made.program = part_in(executor), made.for_capture = part_in(Executor::graph);
  made.nodes = whole.nodes().size();
  return made;
}

// In `reduce` the other ranks have no output. A rank does not register memory that other ranks'
// GPUs do not reach.
bool KnownPrograms::may_open(const CollectiveRequest& request) const {
  if (plans_alone() || request.collective == Collective::reduce ||
      message_bytes(request) < kOpenFrom)
    return false;
  return std::all_of(ranks_.begin(), ranks_.end(), [&](PlaceId from) {
    return std::all_of(ranks_.begin(), ranks_.end(), [&](PlaceId to) {
      const auto hop = machine_.find_hop(from, to);
      return from == to || (hop && machine_.hop(*hop).kind == HopKind::peer);
    });
  });
}

// Whichever program is run, the bits are the same: where any order will do, or an algorithm was
// named, the algorithm is the same.
CollectiveOptions KnownPrograms::open_options(const CollectiveDraft& usual) const {
  CollectiveOptions options = options_;
  options.private_memory = false, options.divided = true;
  if (options_.any_order || !options_.algorithms.empty())
    options.algorithms = {usual.algorithm->name};
  return options;
}

CallPrograms KnownPrograms::make(const CollectiveRequest& kind) {
  const CollectiveRequest request = request_of(kind);
  CallPrograms made{record_of(kind), make_way(request, options_)};
  const int own = static_cast<int>(rank());
  made.input = input_bytes(request, own), made.output = output_bytes(request, own);
  if (!made.usual.program) fail_to_divide(request, made.usual.draft);
  if (!may_open(request)) return made;
  CallWay open = make_way(request, open_options(made.usual.draft));
  const bool gains = open.draft.predicted <= made.usual.draft.predicted;
  if (gains && !open.draft.algorithm->is_kernel) made.open = std::move(open);
  return made;
}

}  // namespace polypath::collective
