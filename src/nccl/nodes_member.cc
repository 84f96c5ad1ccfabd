#include "nccl/nodes_member.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "collective/internode/internode_collectives.h"
#include "collective/rank/ending.h"
#include "collective/rank/timeouts.h"
#include "communicator/bootstrap/ranks.h"
#include "core/error.h"
#include "core/log.h"
#include "core/note_problem.h"
#include "nccl/node_member.h"

namespace polypath::nccl {
namespace {

// Of a rank's part in the network. A guess: smaller ones cost more launches, and of larger ones
// fewer are under way at a time. No network has been measured.
constexpr Bytes kLeastPiece = 4_MiB;

}  // namespace

// The error of one rank is that of all, before any of them relies on it.
template <class Action>
void NodesMember::together(Action action) {
  std::string problem;
  note_problem(problem, action);
  check_at_all_ranks(*meeting_.all, problem, timeout_);
}

NodesMember::NodesMember(const Surroundings& around, PlaceId gpu, Meeting meeting,
                         const Functions& real, Comm program, Seconds timeout)
    : Member(around, gpu, meeting.all->rank(), meeting.all->size()),
      meeting_(std::move(meeting)),
      timeout_(timeout) {
  try {
    together([&] { inside_ = join_in_node(around, gpu, std::move(meeting_.node), timeout); });
    together([&] { make_rail(real, program); });
    together([&] { prepare(); });
    together([&] { warm_up(); });
    together([&] { around.driver.synchronize(pipeline_->network()); });
  } catch (const Error&) {
    leave();
    throw;
  }
}

void NodesMember::make_rail(const Functions& real, Comm program) {
  rail_ = std::make_unique<Rail>(real, program, meeting_.nodes, rank(), around().native);
  const Bytes piece = std::max(kLeastPiece, piece_between_nodes(around().machine));
  place_ = std::make_unique<NodeRank>(around().driver, gpu(), meeting_.nodes, rank(), inside_.get(),
                                      piece);
  pipeline_ = std::make_unique<InternodePipeline>(around().driver, gpu(), *rail_);
}

// Memory that is made, and kernels that are loaded, while streams wait for other ranks may have to
// wait for them.
void NodesMember::prepare() {
  for (int piece = 0; piece < NodeRank::kPieces; ++piece)
    (void)place_->work(piece), (void)place_->gathered(piece);
  place_->prepare(pipeline_->network());
  prepare_calls();
  pipeline_->mark_network();
  around().driver.synchronize(pipeline_->network());
}

// A call that kernels refuse would be NCCL's on one node alone.
void NodesMember::prepare_calls() {
  for (const Collective collective :
       {Collective::all_reduce, Collective::reduce_scatter, Collective::all_gather})
    for (const std::uint64_t elements : {std::uint64_t{1}, kLeastPiece.value}) {
      const CollectiveCall call{.collective = collective, .elements = elements};
      const auto steps =
          internode_schedule(*place_, call, pipeline_->network(), pipeline_->network());
      steps->only_prepare();
      for (int piece = 0; piece < steps->pieces(); ++piece)
        steps->before(piece), steps->after(piece);
    }
}

// The real library connects ranks at their first message, and waits for the other one then.
void NodesMember::warm_up() {
  NodeMessages messages;
  const Bytes bytes{1};
  Address at = place_->arrived();
  messages.given.push_back({place_->rail_peers(), place_->work(0), bytes});
  for (const int other : place_->rail_peers()) {
    messages.taken.push_back({other, at, bytes});
    at = at + bytes;
  }
  rail_->start(0, messages, pipeline_->network());
}

std::string NodesMember::shape() const {
  return fmt::format("{} nodes of {}", meeting_.nodes.count(), node_ranks().size());
}

std::vector<Blob> NodesMember::all_gather(const Blob& mine) {
  const std::scoped_lock lock(mutex_);
  return meeting_.all->all_gather(mine, timeout_);
}

void NodesMember::work_for_ever() {
  wait_for_ever(*inside_);
  meeting_.all.reset();
}

bool NodesMember::has(Operation operation) const {
  return operation == Operation::all_reduce || operation == Operation::reduce_scatter ||
         operation == Operation::all_gather;
}

std::optional<Fate> NodesMember::left(const Call& call) const {
  if (const auto fate = Member::left(call)) return fate;
  if (around().driver.is_capturing(stream_of(call))) return Fate::captured;
  return std::nullopt;
}

// If one rank failed alone, the others would wait for it. What one node's kernels refuse is no
// longer for NCCL either: other nodes have begun.
void NodesMember::run(std::span<const Call> calls) {
  const std::scoped_lock lock(mutex_);
  const Call& call = calls.front();
  const StreamHandle stream = stream_of(call);
  try {
    const CollectiveCall ours = our_form(call, size()).value();
    pipeline_->issue(*internode_schedule(*place_, ours, stream, pipeline_->network()), stream);
  } catch (const Error& error) {
    pipeline_->mark_end(stream);
    abort(error.what());
    throw Error(error.code(), error.what());
  }
}

void NodesMember::abort_node(const std::string& why) {
  inside_->communicator().abort(abort_text(meeting_.nodes.local_rank(rank()), why));
}

std::optional<std::string> NodesMember::problem() {
  if (const auto between = rail_->problem()) abort_node(*between);
  const auto found = problem_of(inside_->communicator());
  if (!found) return std::nullopt;
  rail_->abort();
  return fmt::format("Of {}, counted from 0: {}", describe_ranks(node_ranks()), *found);
}

bool NodesMember::is_idle() {
  return pipeline_->is_done() && pipeline_->is_network_done() && inside_->is_done();
}

void NodesMember::abort(const std::string& why) {
  abort_node(why);
  rail_->abort();
}

bool NodesMember::await_end_of_work() noexcept {
  const auto check = [&] {
    if (const auto found = problem()) throw Error(ErrorCode::communicator, *found);
  };
  return await_end([&] { return is_idle(); }, check, kGpuTimeout);
}

void NodesMember::leave() noexcept {
  const std::scoped_lock lock(mutex_);
  if (std::exchange(has_left_, true) || !pipeline_) return;
  const bool is_settled = await_end_of_work();
  inside_->leave();
  rail_->leave();
  if (is_settled) {
    place_.reset();
    return pipeline_->close();
  }
  log(LogLevel::warning, "memory of collectives stays in use: what is queued does not end");
  (void)place_.release();
  (void)inside_.release();
}

}  // namespace polypath::nccl
