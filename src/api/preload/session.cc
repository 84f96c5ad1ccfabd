#include "api/preload/session.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/preload/interposer.h"
#include "api/preload/symbol_lookup.h"
#include "core/error.h"
#include "core/log.h"

namespace polypath::preload {
namespace {

cuda::CudaDriver& gpu_driver(const OpenMachine& opened, const Settings& settings) {
  if (auto* driver = dynamic_cast<cuda::CudaDriver*>(&opened.untraced_driver())) return *driver;
  if (!settings.machine.empty())
    fail(ErrorCode::invalid_setting,
         fmt::format("POLYPATH_MACHINE={} cannot be used here", settings.machine),
         "it names a machine to simulate, and this program works on real GPUs", "Unset it.");
  fail(ErrorCode::unsupported, "copies cannot be planned", opened.note());
}

Settings beside_program(Settings settings) {
  settings.own_contexts = true;
  return settings;
}

// The preload library sees when the program resets a GPU; the module for UCX has to ask.
void check_that_ends_are_seen(cuda::CudaDriver& driver) {
  if (is_preloaded() || cuda::id_of(driver.contexts().any()) != 0) return;
  fail(ErrorCode::unsupported, "copies cannot be accelerated by a module of UCX",
       "this driver cannot tell a context that has been reset from the one before",
       "Take a driver for CUDA 12, or 'polypath run --how preload'.");
}

// The longest time that a call waits for a stream to become idle: the most that it may lose by
// waiting.
constexpr Seconds kPollingTimeout = 20_us;

// A copy for which something is being made is native without a question for so long, or as often as
// takes so long: copies that are issued all at once count at once. To find out takes 20 us where
// another thread makes contexts meanwhile: TransferBench's ten copies of 256 MiB between two GPUs
// took 1.03 times as long as natively (results/h200x4/transferbench.json). Cost: a program gains so
// much later.
constexpr Seconds kAskedAgainAfter = 10'000_us;

// Of a copy that is left to the program's own call.
Outcome outcome_of(FallbackReason obstacle) {
  switch (obstacle) {
    case FallbackReason::none: return Outcome::native;
    case FallbackReason::failed: return Outcome::failed;
    case FallbackReason::preparing: return Outcome::preparing;
    case FallbackReason::no_lane: return Outcome::in_use;
    case FallbackReason::queue_full: return Outcome::queue_full;
    case FallbackReason::reads_peer: return Outcome::reads_peer;
  }
  return Outcome::failed;
}

// After which there may be staging memory.
bool uses_staging(Outcome outcome) {
  return outcome == Outcome::streams || outcome == Outcome::graphs || outcome == Outcome::windows ||
         outcome == Outcome::preparing;
}

}  // namespace

// Of a stream that is not being captured: the question would spoil the capture (H200, driver 580,
// results/h200x2/capture.json).
StreamWatch::Order Session::order_of(cuda::StreamPointer stream) {
  unsigned flags = 0;
  const bool alone = !is_default_stream(stream) &&
                     cuda::functions().stream_flags(stream, &flags) == cuda::kSuccess &&
                     (flags & cuda::kStreamNonBlocking) != 0;
  return alone ? StreamWatch::Order::alone : StreamWatch::Order::with_default;
}

bool Session::Ends::pageable() const {
  return destination.memory.kind == MemoryKind::pageable ||
         source.memory.kind == MemoryKind::pageable;
}

CopyEnds Session::Ends::for_engine() const {
  return {.destination = destination.memory.place,
          .source = source.memory.place,
          .destination_kind = destination.memory.kind,
          .source_kind = source.memory.kind};
}

Session::Session(const Settings& settings)
    : settings_(beside_program(settings)),
      opened_(open_machine("", settings_)),
      driver_(gpu_driver(opened_, settings)),
      gpus_(opened_.machine().places_of(PlaceKind::gpu)),
      engine_(opened_.make_engine()),
      ordered_(driver_),
      queued_(driver_),
      executor_(parse_executor(settings.executor)),
      background_(settings.prepare == "background" ? std::make_unique<Background>() : nullptr) {
  if (!opened_.note().empty()) log(LogLevel::info, opened_.note());
  check_that_ends_are_seen(driver_);
  leave_out_exclusive_gpus();
}

// A context on a GPU of which each process may have one for itself would take it from its owner.
void Session::leave_out_exclusive_gpus() {
  for (std::size_t gpu = 0; gpu < gpus_.size(); ++gpu) {
    int mode = cuda::kComputeModeDefault;
    const auto device = static_cast<cuda::Device>(gpu);
    if (cuda::functions().device_attribute(&mode, cuda::kDeviceComputeMode, device) ==
            cuda::kSuccess &&
        mode != cuda::kComputeModeDefault && !cuda::is_active(device))
      engine_.leave_out(gpus_[gpu], LeftOutBecause::exclusive_compute_mode);
  }
}

void Session::stop_preparing() noexcept {
  if (background_) background_->stop();
  watcher_.stop();
  engine_.stop_preparing();
}

Fate Session::copy(const ProgramCopy& asked) {
  const auto recent = recent_.find(asked);
  if (recent && recent->call && is_left_again(asked, *recent->call)) return Outcome::native;
  const bool settled =
      recent && !recent->call && !recent->is_over([this] { return driver_.now(); });
  const Fate fate = settled ? Fate(recent->outcome) : find_out(asked, recent ? recent->found : 0);
  if (uses_staging(fate.outcome)) note_use();
  return fate;
}

// `found`: so often it was found among what is remembered for a while, this time included.
Fate Session::find_out(const ProgramCopy& asked, int found) {
  if (found > 0) recent_.end(asked);
  const Fate fate = decide(asked, std::max(0, found - 1));
  if (fate.outcome == Outcome::reads_peer) recent_.remember(asked, fate.outcome);
  return fate;
}

void Session::remember_preparing(const ProgramCopy& asked, const Ends& ends) {
  const Machine& machine = opened_.machine();
  const auto hop = machine.find_hop(ends.source.memory.place, ends.destination.memory.place);
  const double times = hop ? kAskedAgainAfter / (asked.bytes / machine.hop(*hop).bandwidth) : 0;
  recent_.remember_for_a_while(asked, Outcome::preparing, driver_.now() + kAskedAgainAfter,
                               1 + static_cast<int>(times));
}

bool Session::is_left_again(const ProgramCopy& asked, const RecentOutcomes::EngineCall& recent) {
  cuda::ContextPointer context = nullptr;
  if (is_default_stream(asked.stream) &&
      (cuda::functions().context_current(&context) != cuda::kSuccess || context == nullptr))
    return false;
  if (context != recent.context) return false;
  const std::optional<Decision> decision = engine_.recall(recent.call);
  if (decision) (void)engine_.enqueue_or_leave(*decision);
  return decision.has_value();
}

// Cheap checks come first.
Fate Session::decide(const ProgramCopy& asked, int unasked) {
  if (executor_ == Executor::native) return Outcome::native;
  if (!driver_.contexts().are_alive()) {
    // The program has reset a GPU unseen: streams, events and rings of ours are gone.
    if (trace::Recorder* recorder = trace::Recorder::of_process()) recorder->abandon();
    Interposer::get().contexts_reset();
    return Outcome::off;
  }
  const std::optional<PlaceId> gpu = place_of(asked.stream);
  if (!gpu) return Outcome::other_context;
  const StreamHandle stream = handle_of(asked.stream, *gpu);
  if (driver_.is_capturing(stream)) return Outcome::capturing;
  Ends ends;
  if (const auto against = resolve_memory(asked, ends)) {
    if (*against == Outcome::same_memory || *against == Outcome::few_cpus ||
        *against == Outcome::pageable)
      recent_.remember(asked, *against);
    return *against;
  }
  CopyCall call = call_of(asked, stream, *gpu);
  call.options = options_for(ends);
  call.cautious = true;
  call.unasked = unasked;
  Question question{asked, *gpu, ends, engine_.decide(call, ends.for_engine())};
  const Fate fate = carry_out(question);
  if (fate.outcome == Outcome::preparing) remember_preparing(asked, ends);
  return fate;
}

CopyCall Session::call_of(const ProgramCopy& asked, StreamHandle stream, PlaceId gpu) {
  return {.destination = asked.destination,
          .source = asked.source,
          .bytes = asked.bytes,
          .stream = stream,
          .stream_gpu = gpu};
}

// Every message of another process's memory would change all addresses of a graph.
PlanOptions Session::options_for(const Ends& ends) const {
  PlanOptions options;
  if (ends.imported() && !executor_) options.executor = Executor::stream;
  return options;
}

Fate Session::carry_out(Question& question) {
  const auto& [asked, gpu, ends, decision] = question;
  if (decision.means == Method::native) return leave(question);
  if (const auto against = look_at_imports(question)) return *against;
  if (!may_begin(question)) return Outcome::pending;
  if (decision.means == Method::paths)
    question.decision.may_be_held = !waits_for_nobody(question, Polling::no);
  const Fate fate = asked.stream == nullptr ? enqueue_in_order(question) : enqueue(question);
  if (is_made(fate.outcome)) {
    note_queued(question.decision.call, {ends});
    wait_if_blocking(question);
  }
  return fate;
}

// Natively: by the program's own call, unless the copy is timed. In a stream that may wait for the
// program it is not: events fill the driver's queue as copies do.
Fate Session::leave(Question& question) {
  Decision& decision = question.decision;
  if (decision.measurement && !waits_for_nobody(question, Polling::no))
    decision.measurement = nullptr;
  if (decision.compared && !may_begin(question)) decision.compared = false;
  const CopyResult result = engine_.enqueue_or_leave(decision);
  if (result.made_here) {
    wait_if_blocking(question);
    return Outcome::compared;
  }
  if (decision.obstacle == FallbackReason::none && !decision.learnt)
    remember(question.asked, decision);
  return {outcome_of(decision.obstacle), result.missed};
}

void Session::wait_if_blocking(const Question& question) {
  if (question.asked.blocking && !question.ends.between_gpus())
    driver_.synchronize(question.decision.call.stream);
}

// A copy with no effect on contention is native without a question to the engine.
void Session::remember(const ProgramCopy& asked, const Decision& decision) {
  if (decision.stays_native && !decision.time) return recent_.remember(asked, Outcome::native);
  const bool in_default = is_default_stream(asked.stream);
  RecentOutcomes::EngineCall engine_call{
      .call = decision.call,
      .context = in_default ? context_of(decision.call.stream_gpu) : nullptr};
  recent_.remember(asked, std::move(engine_call));
}

std::optional<PlaceId> Session::place_of(cuda::StreamPointer stream) {
  return driver_.gpu_of_foreign(reinterpret_cast<std::uintptr_t>(stream));
}

StreamHandle Session::handle_of(cuda::StreamPointer stream, PlaceId gpu) {
  return opened_.driver().foreign_stream(gpu, reinterpret_cast<std::uintptr_t>(stream));
}

// Copies over several paths may be behind anything: no call and no stream of the program waits for
// contexts of our own. Windows are filled on the host, in the program's call, and that may wait
// only where the driver's own call does.
bool Session::may_begin(const Question& question) {
  const auto& [asked, gpu, ends, decision] = question;
  if (!ends.pageable() || !ends.destination.is_device() || asked.blocking) return true;
  return asked.bytes >= opened_.machine().driver.pageable_in_waits_from ||
         waits_for_nobody(question, Polling::yes);
}

// See StreamWatch.
bool Session::waits_for_nobody(const Question& question, Polling polling) {
  const cuda::StreamPointer stream = question.asked.stream;
  const auto order = order_of(stream);
  return StreamWatch::of_process().waits_for_nobody(
      stream, order, is_default_stream(stream) ? context_of(question.gpu) : nullptr, [&] {
        return polling == Polling::yes ? becomes_idle(question, order) : is_idle(question, order);
      });
}

// The work may end a moment later. Windows gain more than this wait costs.
bool Session::becomes_idle(const Question& question, StreamWatch::Order order) {
  const Seconds until = driver_.now() + kPollingTimeout;
  do {
    if (is_idle(question, order)) return true;
  } while (driver_.now() < until);
  return false;
}

bool Session::is_idle(const Question& question, StreamWatch::Order order) {
  const auto& [asked, gpu, ends, decision] = question;
  if (!is_finished(gpu, asked.stream)) return false;
  if (order == StreamWatch::Order::alone) return true;
  std::vector<PlaceId> gpus{gpu};
  for (const End& end : {ends.source, ends.destination})
    if (asked.stream == nullptr && end.is_device() && !end.imported)
      gpus.push_back(end.memory.place);
  return std::all_of(gpus.begin(), gpus.end(),
                     [this](PlaceId each) { return is_finished(each, nullptr); });
}

// Beside a capture the default stream may not even be asked.
bool Session::is_finished(PlaceId gpu, cuda::StreamPointer stream) {
  if (stream == nullptr && driver_.is_capturing(driver_.foreign_stream(gpu, 0))) return false;
  const cuda::Current current(context_of(gpu));
  const cuda::RelaxedCapture relaxed;
  return cuda::functions().stream_query(stream) == cuda::kSuccess;
}

Fate Session::enqueue(const Question& question) {
  const CopyResult result = engine_.enqueue_or_leave(question.decision);
  if (result.means == Method::windows) return Outcome::windows;
  if (result.means == Method::native) return {outcome_of(result.obstacle), result.missed};
  return result.executor == Executor::graph ? Outcome::graphs : Outcome::streams;
}

// A copy in the legacy default stream between two GPUs starts after everything that either of them
// has been given before, and what they are given next starts after it.
Fate Session::enqueue_in_order(const Question& question) {
  const CopyCall& call = question.decision.call;
  std::vector<PlaceId> others;
  for (const End& end : {question.ends.source, question.ends.destination})
    if (end.is_device() && end.memory.place != question.gpu && may_order_with(end))
      others.push_back(end.memory.place);
  order(call, others, true);
  const Fate fate = enqueue(question);
  order(call, others, false);
  return fate;
}

// The owner of imported memory has its streams in another process. A stream that is captured beside
// the default one must not be disturbed.
bool Session::may_order_with(const End& end) {
  return !end.imported && !driver_.is_capturing(driver_.foreign_stream(end.memory.place, 0));
}

void Session::order(const CopyCall& call, const std::vector<PlaceId>& others, bool before) {
  const std::scoped_lock lock(ordering_);
  // Also where there are no other streams: the stream then waits last for work of its own, for
  // which other streams of its context wait in turn.
  if (!before) driver_.record(ordered_.on(call.stream_gpu), call.stream);
  for (const PlaceId gpu : others) {
    const StreamHandle other = driver_.foreign_stream(gpu, 0);
    if (before) {
      driver_.record(ordered_.on(gpu), other);
      driver_.wait(call.stream, ordered_.on(gpu));
    } else {
      driver_.wait(other, ordered_.on(call.stream_gpu));
    }
  }
}

int Session::number_of(PlaceId gpu) const {
  const auto found = std::find(gpus_.begin(), gpus_.end(), gpu);
  if (found == gpus_.end())
    fail(ErrorCode::internal, "a place is no GPU", "copies are made in the context of one");
  return static_cast<int>(found - gpus_.begin());
}

cuda::ContextPointer Session::context_of(PlaceId gpu) {
  return driver_.contexts().of(number_of(gpu));
}

}  // namespace polypath::preload
