#include "engine/engine.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "core/error.h"
#include "core/log.h"
#include "core/process.h"
#include "core/text.h"

namespace polypath {
namespace {

[[noreturn]] void fail_argument(const std::string& problem, const std::string& why,
                                const std::string& remedy) {
  fail(ErrorCode::invalid_argument, problem, why, remedy);
}

// The memory of `bytes` at `address`, which must lie in one allocation.
MemoryInfo memory_of(Driver& driver, Address address, Bytes bytes, const char* what) {
  if (address.value == 0)
    fail_argument(fmt::format("{} is null", what), "there is no memory there", "Pass an address.");
  const auto memory = driver.find_memory(address);
  if (!memory)
    fail_argument(fmt::format("{} 0x{:x} is not known to the driver", what, address.value),
                  "it is in no live allocation of this machine",
                  "Allocate it at one of the machine's places.");
  const std::uint64_t left = memory->base.value + memory->size.value - address.value;
  if (bytes.value > left)
    fail_argument(
        fmt::format("{} is too short", what),
        fmt::format("{} bytes are left in its allocation, {} were asked for", left, bytes.value),
        "Correct the size or the offset.");
  return *memory;
}

bool overlap(const CopyCall& call) {
  return call.source.value < call.destination.value + call.bytes.value &&
         call.destination.value < call.source.value + call.bytes.value;
}

Asked asked_of(const CopyCall& call, PlaceId source, PlaceId destination) {
  return {call.stream, source, destination, call.bytes};
}

std::string describe(const Machine& machine, const Plan& plan, Executor executor) {
  std::string text =
      fmt::format("{} from {} to {} as {}, predicted {}:", describe_bytes(plan.bytes),
                  machine.place(plan.source).name, machine.place(plan.destination).name,
                  name_of(executor), describe_seconds(plan.predicted));
  for (const PathDecision& decision : plan.decisions)
    if (decision.included)
      text +=
          fmt::format(" {} {:.1f} % in {}", decision.name, 100 * decision.share, decision.chunks);
  return text;
}

// The driver knows such memory and leaves it where it is.
bool is_planned(MemoryKind kind) {
  return kind == MemoryKind::device || kind == MemoryKind::pinned;
}

// A native copy gives way to nobody, so that a crowd does not matter.
bool goes_as_known(const FamiliarCopies::Entry& known, const Company& company) {
  if (!company.load.empty()) return false;
  return company.both_ways == BothWays::no ? known.alone : known.both_ways == company.both_ways;
}

// What fails in here has been counted as asked for.
template <class Call>
auto counting_errors(Statistics& statistics, Call call) {
  try {
    return call();
  } catch (const Error&) {
    ++statistics.errors;
    throw;
  }
}

}  // namespace

Engine::Engine(Driver& driver, const Machine& machine, const Settings& settings,
               std::shared_ptr<LoadTracker> load)
    : driver_(driver),
      machine_(machine),
      settings_(settings),
      process_(getpid()),
      generation_(process_generation()),
      plans_(machine_, settings_),
      lanes_(driver, machine_, settings_, statistics_),
      load_(load ? std::move(load) : std::make_shared<LoadTracker>(machine_)),
      familiar_(std::min(settings.min_message, settings.pageable_min)),
      uses_(static_cast<std::size_t>(settings.plan_cache)),
      pageable_(
          driver, machine_.driver, settings_,
          [this](const CopyCall& call, const CopyEnds& ends) { return send_window(call, ends); }),
      background_(settings.prepare == "background" ? std::make_unique<Background>() : nullptr) {
  (void)parse_executor(settings.executor);
  set_log_level(settings.log_level);
}

// Nothing is being made any more when what there is goes.
Engine::~Engine() { stop_preparing(); }

void Engine::stop_preparing() noexcept {
  if (background_) background_->stop();
}

void Engine::leave_out(PlaceId relay, LeftOutBecause why) {
  const std::scoped_lock lock(mutex_);
  left_out_.add(relay, why);
}

CopyEnds Engine::look_at_ends(const CopyCall& call) {
  const MemoryInfo source = memory_of(driver_, call.source, call.bytes, "source");
  const MemoryInfo destination = memory_of(driver_, call.destination, call.bytes, "destination");
  return {source.place, destination.place, source.kind, destination.kind};
}

CopyEnds Engine::check(const CopyCall& call) {
  const CopyEnds ends = call.ends ? *call.ends : look_at_ends(call);
  if (overlap(call))
    fail_argument("source and destination overlap", "the result would depend on the order of bytes",
                  "Copy through a third buffer.");
  return ends;
}

// A forked child has its parent's memory but not its driver: handles mean nothing there.
void Engine::check_process() const {
  if (process_generation() == generation_) return;
  fail(ErrorCode::unsupported, fmt::format("this context belongs to process {}", process_),
       "a forked child cannot use its parent's streams and memory", "Open one in the child.");
}

CopyResult Engine::copy(const CopyCall& call) {
  check_process();
  std::unique_lock lock(mutex_);
  if (call.bytes.value == 0) return {};
  if (const auto done = familiar_copy(call, lock)) return *done;
  const CopyEnds ends = check(call);
  if (!is_planned(ends.source_kind) || !is_planned(ends.destination_kind)) {
    lock.unlock();
    return unpinned_copy(call, ends);
  }
  const bool plain = call.bytes < settings_.min_message && !call.options.forced();
  if (!plain && ends.source != ends.destination && !is_captured(call))
    return planned_copy(call, ends);
  return unplanned_copy(call, ends);
}

bool Engine::leaves_again(const CopyCall& call) {
  if (!call.native_by_caller || process_generation() != generation_) return false;
  std::unique_lock lock(mutex_);
  return familiar_copy(call, lock).has_value();
}

bool Engine::is_captured(const CopyCall& call) const {
  return !call.ends && driver_.is_capturing(call.stream);
}

// As the last one like it, if that went natively and nothing is in flight that could change it.
std::optional<CopyResult> Engine::familiar_copy(const CopyCall& call,
                                                std::unique_lock<std::mutex>& lock) {
  const FamiliarCopies::Entry* found = familiar_.find(call);
  if (found == nullptr || overlap(call)) return std::nullopt;
  const FamiliarCopies::Entry known = *found;  // without the lock another may take its slot
  const bool brief =
      !known.plan || (known.alone && known.plan->predicted <= machine_.driver.brief_copy);
  Seconds now;
  Company company;
  if (!brief) {
    now = driver_.now();
    company = load_->company_of(asked_of(call, known.plan->source, known.plan->destination), now);
    if (!goes_as_known(known, company)) return std::nullopt;
  }
  try {
    if (known.may_block) lock.unlock();
    native_copy(call, {});
  } catch (const Error&) {
    if (!lock.owns_lock()) lock.lock();
    count_failure_of_familiar(call);
    throw;
  }
  if (!lock.owns_lock()) lock.lock();
  count_asked(call);
  ++statistics_.native;
  if (!brief) load_->add(call.stream, known.plan, now, company);
  return CopyResult{Executor::native, known.plan, call.native_by_caller};
}

// Throws what is wrong with the call, if it is the caller's fault.
void Engine::count_failure_of_familiar(const CopyCall& call) {
  familiar_.forget(call);
  (void)check(call);
  count_asked(call);
  ++statistics_.errors;
}

CopyResult Engine::unplanned_copy(const CopyCall& call, const CopyEnds& ends) {
  count_asked(call);
  counting_errors(statistics_, [&] { native_copy(call, ends); });
  ++statistics_.native;
  if (call.bytes < settings_.min_message) familiar_.remember_small(call, false);
  return {Executor::native, nullptr, call.native_by_caller};
}

CopyResult Engine::planned_copy(const CopyCall& call, const CopyEnds& ends) {
  const Seconds now = driver_.now();
  const PlanBeside beside = plan_beside(call, ends, now);
  count_asked(call);
  CopyResult result =
      counting_errors(statistics_, [&] { return enqueue(call, ends, beside, now); });
  if (result.executor == Executor::native) {
    ++(result.obstacle == Obstacle::failed ? statistics_.fallbacks : statistics_.native);
    if (result.plan && beside.unhindered)
      familiar_.remember(call, result.plan, beside.company.both_ways);
  } else {
    ++(result.executor == Executor::graph ? statistics_.graphs : statistics_.streams);
  }
  return result;
}

// The plan beside what else is in flight.
Engine::PlanBeside Engine::plan_beside(const CopyCall& call, const CopyEnds& ends, Seconds now) {
  const Company company = load_->company_of(asked_of(call, ends.source, ends.destination), now);
  PlanRequest request{ends.source, ends.destination, call.bytes, complete(call.options),
                      company.load};
  const bool forced = call.options.forced();
  if (!forced) request.options.both_ways = company.both_ways;
  request.options.followers_unknown = company.followers_unknown;
  PlanBeside beside{plan_for(request), company, company.load.empty()};
  if (beside.plan && gives_way(*beside.plan, company) && !forced) {
    request.options.executor = ExecutorChoice::native;
    beside.plan = plan_for(request);
    beside.unhindered = false;
  }
  return beside;
}

ExecutorChoice Engine::choice_of(const PlanOptions& options) const {
  return options.executor == ExecutorChoice::automatic ? parse_executor(settings_.executor)
                                                       : options.executor;
}

PlanOptions Engine::complete(const PlanOptions& options) const {
  PlanOptions completed = options;
  completed.executor = choice_of(options);
  completed.left_out = left_out_;
  return completed;
}

// What the caller asks for in words is planned, or refused, in the call.
PlanPointer Engine::plan_for(const PlanRequest& request) {
  const bool asked_for = request.options.forced() || !request.options.chunks.empty();
  return background_ && !asked_for ? plans_.find(request, *background_) : plans_.make(request);
}

// Where other processes leave no room a plan of several paths becomes one native copy: to plan
// around them would move all of them to the same free resources at the same moment. Four ranks in a
// ring on two H200s lost a third by that.
bool Engine::gives_way(const Plan& plan, const Company& company) const {
  if (plan.executor() == Executor::native) return false;
  return load_->lacks_room(plan, company.crowd);
}

void Engine::native_copy(const CopyCall& call, const CopyEnds& ends) {
  if (call.native_by_caller) return;
  driver_.copy_native({call.destination,
                       call.source,
                       call.bytes,
                       {next_transfer_++, 0, 0},
                       ends.destination,
                       ends.source},
                      call.stream);
}

// By plan, or as one native copy if something is in the way.
CopyResult Engine::enqueue(const CopyCall& call, const CopyEnds& ends, const PlanBeside& beside,
                           Seconds now) {
  const PlanPointer& plan = beside.plan;
  if (!plan) {
    native_copy(call, ends);
    return {Executor::native, nullptr, call.native_by_caller, Obstacle::preparing};
  }
  Executor executor = executor_for(call, *plan);
  if (logs(LogLevel::debug)) log(LogLevel::debug, describe(machine_, *plan, executor));
  const bool planned_native = executor == Executor::native;
  const Obstacle obstacle = planned_native ? Obstacle::none : run(call, plan, executor);
  if (!planned_native && obstacle == Obstacle::none) {
    load_->add(call.stream, plan, now, beside.company);
    count_staged(*plan);
    return {executor, plan};
  }
  native_copy(call, ends);
  load_->add(call.stream, plan, now, beside.company);
  return {Executor::native, planned_native ? plan : nullptr, call.native_by_caller, obstacle};
}

// A graph pays only when launched again: an automatic plan runs as streams the first times.
Executor Engine::executor_for(const CopyCall& call, const Plan& plan) {
  if (plan.executor() != Executor::graph) return plan.executor();
  if (choice_of(call.options) == ExecutorChoice::graph) return Executor::graph;
  int* uses = uses_.find(plan.structure);
  if (uses == nullptr) uses = &uses_.insert(plan.structure, 0);
  return (*uses)++ < settings_.graph_after ? Executor::stream : Executor::graph;
}

// None: the transfer is enqueued, by `executor`. Else nothing of it is queued.
Obstacle Engine::run(const CopyCall& call, const PlanPointer& plan, Executor& executor) {
  if (call.may_branch && !call.may_branch()) return Obstacle::held;
  Lane* lane = lanes_.lend(call.stream);
  if (lane == nullptr) return Obstacle::no_lane;
  Obstacle obstacle = provide(*lane, plan);
  if (obstacle == Obstacle::none) obstacle = find_room(*lane, call, *plan, executor);
  if (obstacle != Obstacle::none) return obstacle;
  const std::array buffers{call.source, call.destination};
  const Transfer transfer{&plan->program, plan->structure, buffers,
                          call.stream,    call.stream_gpu, next_transfer_++};
  return run_in(*lane, transfer, executor);
}

// A graph is one entry in a stream, however many copies it has.
Obstacle Engine::find_room(Lane& lane, const CopyCall& call, const Plan& plan,
                           Executor& executor) const {
  if (executor == Executor::graph || lane.has_room(plan.program)) return Obstacle::none;
  if (choice_of(call.options) != ExecutorChoice::automatic) return Obstacle::queue_full;
  executor = Executor::graph;
  return Obstacle::none;
}

Obstacle Engine::run_in(Lane& lane, const Transfer& transfer, Executor executor) {
  bool queued = false;
  try {
    lane.prepare(transfer, executor);
    queued = true;
    lane.run(transfer, executor);
    return Obstacle::none;
  } catch (const Error& error) {
    // A native copy must not be overtaken by what is queued, nor may what follows it in the stream.
    if (queued && !lane.settle(transfer)) throw UnsettledError(error.code(), error.what());
    log(LogLevel::warning, fmt::format("one native copy instead of {} copies: {}",
                                       transfer.program->nodes().size(), error.what()));
    return Obstacle::failed;
  }
}

void Engine::count_asked(const CopyCall& call) {
  ++statistics_.transfers;
  statistics_.bytes += call.bytes;
}

void Engine::count_staged(const Plan& plan) {
  for (const PathShape& part : plan.shape.paths)
    if (part.path.staged())
      for (const Bytes chunk : part.chunks) statistics_.staged_bytes += chunk;
}

PlanPointer Engine::plan(PlaceId source, PlaceId destination, Bytes bytes,
                         const PlanOptions& options) {
  std::unique_lock lock(mutex_);
  const PlanRequest request{source, destination, bytes, complete(options)};
  lock.unlock();
  return plans_.make(request);
}

PlanPointer Engine::known_plan(PlaceId source, PlaceId destination, Bytes bytes,
                               const PlanOptions& options) {
  const std::scoped_lock lock(mutex_);
  return plan_for({source, destination, bytes, complete(options)});
}

Statistics Engine::statistics() const {
  const std::scoped_lock lock(mutex_);
  return statistics_;
}

}  // namespace polypath
