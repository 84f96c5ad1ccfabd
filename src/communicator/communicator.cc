#include "communicator/communicator.h"

#include <fmt/format.h>

#include <atomic>
#include <utility>

#include "communicator/communicator_state.h"
#include "communicator/node/control_block_sharing.h"
#include "communicator/watcher.h"
#include "core/error.h"
#include "core/ignore_errors.h"

namespace polypath::communicator {

CommunicatorOptions communicator_options(const Settings& settings) {
  return {.node = settings.node, .timeout = Seconds{settings.communicator_timeout}};
}

Communicator::Communicator(std::unique_ptr<Bootstrap> bootstrap, CommunicatorOptions options)
    : size_(bootstrap->size()),
      bootstrap_(std::move(bootstrap)),
      options_(std::move(options)),
      watcher_(Watcher::of_process()) {
  or_give_up(*bootstrap_, [this] { meet(); });
}

void Communicator::meet() {
  if (options_.node.empty()) options_.node = this_node();
  Agreement agreement = agree(*bootstrap_, options_.node, options_.timeout);
  ControlBlock block = share_control_block(*bootstrap_, agreement.nodes, options_.timeout);
  state_ = std::make_shared<CommunicatorState>(std::move(agreement), std::move(block),
                                               bootstrap_->rank(), options_.timeout);
  watcher_->add(state_);
  bootstrap_->while_waiting([state = state_] { state->check(); });
}

Communicator::~Communicator() { close(); }

int Communicator::rank() const { return state_->rank; }
int Communicator::size() const { return size_; }

Bootstrap& Communicator::bootstrap() {
  if (bootstrap_) return *bootstrap_;
  fail(ErrorCode::invalid_argument, "ranks cannot exchange anything any more",
       "they have said that they would not", "Exchange it before, or make another communicator.");
}
const Nodes& Communicator::nodes() const { return state_->agreement.nodes; }
const std::string& Communicator::id() const { return state_->agreement.id; }

void Communicator::set_timeout(Seconds timeout) {
  options_.timeout = timeout;
  state_->set_timeout(timeout);
}

CallNumber Communicator::begin(const CallRecord& call) { return state_->begin(call); }

void Communicator::watch(CallNumber call, Question is_done) {
  state_->watch(call, std::move(is_done));
  watcher_->wake();
}

void Communicator::doubt(Doubt doubt) { state_->doubt(std::move(doubt)); }
void Communicator::on_abort(Callback callback) { state_->on_abort(std::move(callback)); }
void Communicator::abort(const std::string& why, ErrorCode code) { state_->abort(code, why); }
void Communicator::check() { state_->check(); }

void Communicator::give_up(const std::string& why) noexcept {
  ignore_errors(
      [&] { abort(fmt::format("Rank {} has given up ({}) Correct that first.", rank(), why)); });
}

// Watched like an operation: a rank that waits for an ended rank does not wait until the timeout. A
// rank that cannot go on with all others goes on with none.
template <class Call>
auto Communicator::together(const CallRecord& record, Call call) {
  const auto is_over = std::make_shared<std::atomic<bool>>(false);
  watch(state_->begin(record), [is_over] { return is_over->load(); });
  try {
    auto result = call();
    is_over->store(true);
    return result;
  } catch (const Error& error) {
    state_->abort(error.code(), error.what());
    throw;
  } catch (...) {
    state_->abort(ErrorCode::communicator, fmt::format("Rank {} has given up ({} was interrupted)",
                                                       rank(), describe(record)));
    throw;
  }
}

std::vector<Blob> Communicator::all_gather(const Blob& mine, const CallRecord& as) {
  Bootstrap& all = bootstrap();
  return together(as, [&] { return all.all_gather(mine, options_.timeout); });
}

std::unique_ptr<Communicator> Communicator::split(int color, int key,
                                                  std::optional<Seconds> timeout) {
  Bootstrap& all = bootstrap();
  return together({.operation = "split"}, [&]() -> std::unique_ptr<Communicator> {
    CommunicatorOptions options = options_;
    options.timeout = timeout.value_or(options_.timeout);
    auto group = all.split(color, key, options_.timeout);
    if (group) group->while_waiting([this] { check(); });
    return group ? std::make_unique<Communicator>(std::move(group), options) : nullptr;
  });
}

AgreementRing Communicator::agreements() const { return state_->agreements(); }
HandleBoard Communicator::handles() const { return state_->handles(); }

void Communicator::note_settled() { state_->note_settled(); }
bool Communicator::await_settled(Seconds timeout) { return state_->await_settled(timeout); }
void Communicator::close() noexcept { state_->close(); }

void check_at_all_ranks(Communicator& communicator, const std::string& problem) {
  throw_first_problem(communicator.all_gather(problem));
}

}  // namespace polypath::communicator
