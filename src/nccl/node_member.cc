#include "nccl/node_member.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "collective/program/mail.h"
#include "core/error.h"
#include "core/ignore_errors.h"
#include "core/log.h"
#include "core/note_problem.h"

namespace polypath::nccl {
namespace {

// Programs wait for each other as long as they like: ranks that have ended are found without.
constexpr Seconds kNoTimeout{1e8};

// Two communicators' kernels find room on a GPU at the same time. Otherwise a kernel that has all
// of one GPU and a kernel that has all of another could wait for each other for ever.
constexpr unsigned kMultiprocessors = 64;

constexpr std::size_t kMostRepeated = 4096;  // some KiB each

CommunicatorOptions patient(Seconds timeout) {
  CommunicatorOptions options;
  options.timeout = timeout;
  return options;
}

unsigned multiprocessors_of(const Surroundings& around) {
  const int asked = around.settings.collective_multiprocessors;
  return asked > 0 ? static_cast<unsigned>(asked) : kMultiprocessors;
}

CollectiveOptions options_of(const Surroundings& around, int ranks) {
  return {.copies = false,
          .multiprocessors = multiprocessors_of(around),
          .at_once = most_mailed(static_cast<std::size_t>(ranks))};
}

// One of each way in which kernels exchange messages.
std::vector<CollectiveCall> samples() {
  const Reduction bytes{.type = ElementType::uint8};
  return {{.collective = Collective::all_gather, .reduction = bytes, .elements = 1},
          {.collective = Collective::all_gather,
           .reduction = bytes,
           .elements = (line_room(1) + Bytes{1}).value}};
}

}  // namespace

std::unique_ptr<NodeCollectives> join_in_node(const Surroundings& around, PlaceId gpu,
                                              std::unique_ptr<Bootstrap> bootstrap,
                                              Seconds timeout) {
  const int ranks = bootstrap->size();
  auto made = std::make_unique<NodeCollectives>(
      around.driver, around.machine, around.settings, gpu,
      std::make_unique<Communicator>(std::move(bootstrap), patient(timeout)));
  made->plan_alone(options_of(around, ranks), samples());
  return made;
}

void wait_for_ever(NodeCollectives& ranks) {
  ranks.communicator().set_timeout(kNoTimeout);
  ranks.communicator().end_exchanges();
}

std::optional<std::string> problem_of(Communicator& communicator) {
  try {
    communicator.check();
  } catch (const Error& error) {
    return error.what();
  }
  return std::nullopt;
}

std::string abort_text(int rank, const std::string& why) {
  return fmt::format("Rank {} has aborted its communicator ({}) Find out why.", rank, why);
}

NodeMember::NodeMember(const Surroundings& around, PlaceId gpu,
                       std::unique_ptr<Bootstrap> bootstrap, Seconds timeout)
    : Member(around, gpu, bootstrap->rank(), bootstrap->size()),
      ranks_(join_in_node(around, gpu, std::move(bootstrap), timeout)),
      streams_(around.driver, gpu) {
  if (around.driver.name() != "sim") make_messages();
}

// Where one rank cannot, all leave messages to NCCL; collectives are ours all the same. What has
// been made stays until the communicator is closed, which knows of it.
void NodeMember::make_messages() {
  std::string problem;
  note_problem(problem, [&] {
    messages_ = std::make_unique<MemberMessages>(around(), *ranks_, multiprocessors_of(around()));
  });
  const std::vector<Blob> problems = all_gather(problem);
  serves_messages_ = std::ranges::all_of(problems, [](const Blob& each) { return each.empty(); });
  if (!problem.empty()) log(LogLevel::info, "sends and receives stay NCCL's: " + problem);
}

NodeMember::~NodeMember() { leave(); }

std::vector<Blob> NodeMember::all_gather(const Blob& mine) {
  const std::scoped_lock lock(mutex_);
  return ranks_->communicator().all_gather(mine);
}

// Programs make the same calls again and again: the results of the first call are kept.
PersistentCall& NodeMember::repeated(const Call& call) {
  const auto key = [](const auto&... parts) {
    std::string text;
    (text.append(reinterpret_cast<const char*>(&parts), sizeof parts), ...);
    return text;
  };
  if (repeated_.size() > kMostRepeated) repeated_.clear();
  const auto [found, is_new] =
      repeated_.try_emplace(key(call.operation, call.send, call.receive, call.count, call.type,
                                call.reduction, call.other),
                            CollectiveCall{});
  if (is_new) found->second = PersistentCall(our_form(call, size()).value());
  return found->second;
}

void NodeMember::run(std::span<const Call> calls) {
  const std::scoped_lock lock(mutex_);
  if (calls.size() == 1) return run_in(stream_of(calls.front()), calls.front());
  // Refused before the first one is enqueued, or not at all.
  for (const Call& call : calls) ranks_->prepare(our_form(call, size()).value());
  std::vector<StreamHandle> streams;
  for (const Call& call : calls) streams.push_back(stream_of(call));
  const StreamHandle first = streams_.tie(streams);
  for (const Call& call : calls) run_in(first, call);
  (void)streams_.tie(streams);
}

std::optional<std::string> NodeMember::problem() { return problem_of(ranks_->communicator()); }

void NodeMember::abort(const std::string& why) {
  ranks_->communicator().abort(abort_text(rank(), why));
}

void NodeMember::leave() noexcept {
  const std::scoped_lock lock(mutex_);
  if (messages_) messages_->leave();
  ranks_->leave();
}

}  // namespace polypath::nccl
