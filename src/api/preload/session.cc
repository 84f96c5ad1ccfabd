#include "api/preload/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "api/preload/interposer.h"
#include "api/preload/symbol_lookup.h"
#include "core/error.h"
#include "core/ignore_errors.h"
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

// The preload library sees when the program resets a GPU; the module for UCX
// has to ask.
void check_that_ends_are_seen(cuda::CudaDriver& driver) {
  if (is_preloaded() || cuda::id_of(driver.contexts().any()) != 0) return;
  fail(ErrorCode::unsupported, "copies cannot be accelerated by a module of UCX",
       "this driver cannot tell a context that has been reset from the one "
       "before",
       "Take a driver for CUDA 12, or 'polypath run --how preload'.");
}

// A copy for which something is being made is native without a question for so
// long, or as often as takes so long: copies that are issued all at once count
// at once. To find out takes 20 us where another thread makes contexts
// meanwhile, and 60 to 80 in a thread that is new (H200): TransferBench's ten
// copies of 256 MiB between two GPUs took 1.03 times as long as natively
// (results/h200x4/transferbench.json). So brief copies are made before the
// next one is asked about. Cost: a program gains so much, and a copy, later.
constexpr Seconds kAskedAgainAfter = 10'000_us, kBrief = 5'000_us;

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

Session::Session(const Settings& settings)
    : settings_(beside_program(settings)),
      opened_(open_machine("", settings_)),
      driver_(gpu_driver(opened_, settings)),
      engine_(opened_.make_engine()),
      streams_(opened_, driver_),
      memory_(settings_, driver_, engine_, streams_),
      imports_(opened_.machine(), driver_, streams_, settings.prepare == "background"),
      uses_(settings_, driver_, engine_),
      batches_(driver_, engine_, streams_, memory_),
      order_(driver_, streams_),
      executor_(parse_executor(settings.executor)) {
  if (!opened_.note().empty()) log(LogLevel::info, opened_.note());
  check_that_ends_are_seen(driver_);
  leave_out_exclusive_gpus();
}

// A context on a GPU of which each process may have one for itself would take
// it from its owner.
void Session::leave_out_exclusive_gpus() {
  const std::vector<PlaceId> gpus = opened_.machine().places_of(PlaceKind::gpu);
  for (std::size_t gpu = 0; gpu < gpus.size(); ++gpu) {
    int mode = cuda::kComputeModeDefault;
    const auto device = static_cast<cuda::Device>(gpu);
    if (cuda::functions().device_attribute(&mode, cuda::kDeviceComputeMode, device) ==
            cuda::kSuccess &&
        mode != cuda::kComputeModeDefault && !cuda::is_active(device))
      engine_.leave_out(gpus[gpu], LeftOutBecause::exclusive_compute_mode);
  }
}

void Session::stop_preparing() noexcept {
  imports_.stop();
  uses_.stop();
  engine_.stop_preparing();
}

Fate Session::copy(const ProgramCopy& asked) {
  const auto recent = recent_.find(asked);
  if (recent && recent->call && is_left_again(asked, *recent->call)) return Outcome::native;
  const bool settled =
      recent && !recent->call && !recent->is_over([this] { return driver_.now(); });
  const Fate fate = settled ? Fate(recent->outcome) : find_out(asked, recent ? recent->found : 0);
  if (uses_staging(fate.outcome)) uses_.note_staging();
  return fate;
}

// `found`: so often it was found among what is remembered for a while, this
// time included.
Fate Session::find_out(const ProgramCopy& asked, int found) {
  if (found > 0) recent_.end(asked);
  const Fate fate = decide(asked, std::max(0, found - 1));
  if (fate.outcome == Outcome::reads_peer) recent_.remember(asked, fate.outcome);
  return fate;
}

// The stream may be gone: it is but a name here.
void Session::count_early(const EarlyCopies& copies) noexcept {
  (void)ignore_errors([&] {
    const auto [context, gpu] = copies.home;
    if (!cuda::is_active(gpu) || driver_.contexts().of(gpu) != context) return;
    const std::vector<PlaceId> gpus = opened_.machine().places_of(PlaceKind::gpu);
    (void)count_native(copies.copy, gpus[static_cast<std::size_t>(gpu)], copies.count - 1);
  });
}

bool Session::goes_first(const ProgramCopy& asked) {
  return recent_.goes_first(asked, [this] { return driver_.now(); });
}

Fate Session::count_native(const ProgramCopy& asked) {
  const auto recent = recent_.find(asked);
  if (!recent || recent->call) return Outcome::native;
  Fate fate = recent->outcome;
  if (recent->is_over([this] { return driver_.now(); })) {
    recent_.end(asked);
    const std::optional<PlaceId> gpu =
        driver_.contexts().are_alive() ? streams_.place_of(asked.stream) : std::nullopt;
    if (gpu && !driver_.is_capturing(streams_.handle_of(asked.stream, *gpu)))
      fate = count_native(asked, *gpu, recent->found - 1);
  }
  if (uses_staging(fate.outcome)) uses_.note_staging();
  return fate;
}

Fate Session::count_native(const ProgramCopy& asked, PlaceId gpu, int unasked) {
  ProgramEnds ends;
  if (const auto against = memory_.resolve(asked, gpu, ends)) return *against;
  if (ends.pageable()) return Outcome::preparing;
  CopyCall call = call_of(asked, streams_.handle_of(asked.stream, gpu), gpu);
  call.options = options_for(ends);
  call.unasked = unasked;
  const CopyResult result = engine_.count_native(call, ends.for_engine());
  if (result.obstacle == FallbackReason::preparing) remember_preparing(asked, ends);
  return {outcome_of(result.obstacle), result.missed};
}

void Session::remember_preparing(const ProgramCopy& asked, const ProgramEnds& ends) {
  const Machine& machine = opened_.machine();
  const auto hop = machine.find_hop(ends.source.memory.place, ends.destination.memory.place);
  const Seconds takes = hop ? asked.bytes / machine.hop(*hop).bandwidth : Seconds::infinity();
  recent_.remember_for_a_while(asked, Outcome::preparing, driver_.now() + kAskedAgainAfter,
                               1 + static_cast<int>(kAskedAgainAfter / takes),
                               takes < kBrief && !ends.pageable());
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
    // The program has reset a GPU unseen: streams, events and rings of ours are
    // gone.
    if (trace::Recorder* recorder = trace::Recorder::of_process()) recorder->abandon();
    Interposer::get().contexts_reset();
    return Outcome::off;
  }
  const std::optional<PlaceId> gpu = streams_.place_of(asked.stream);
  if (!gpu) return Outcome::other_context;
  const StreamHandle stream = streams_.handle_of(asked.stream, *gpu);
  if (driver_.is_capturing(stream)) return Outcome::capturing;
  ProgramEnds ends;
  if (const auto against = memory_.resolve(asked, *gpu, ends)) {
    if (*against == Outcome::same_memory || *against == Outcome::few_cpus ||
        *against == Outcome::pageable)
      recent_.remember(asked, *against);
    return *against;
  }
  CopyCall call = call_of(asked, stream, *gpu);
  call.options = options_for(ends);
  call.cautious = true;
  call.unasked = unasked;
  ProgramQuestion question{asked, *gpu, ends, engine_.decide(call, ends.for_engine())};
  const Fate fate = carry_out(question);
  if (fate.outcome == Outcome::preparing) remember_preparing(asked, ends);
  return fate;
}

// Every message of another process's memory would change all addresses of a
// graph.
PlanOptions Session::options_for(const ProgramEnds& ends) const {
  PlanOptions options;
  if (ends.imported() && !executor_) options.executor = Executor::stream;
  return options;
}

Fate Session::carry_out(ProgramQuestion& question) {
  const auto& [asked, gpu, ends, decision] = question;
  if (decision.untried && !streams_.waits_for_nobody(question, SessionStreams::Polling::no))
    question.decision.take_untried();
  if (decision.means == Method::native) return leave(question);
  if (const auto against = imports_.look_at(question)) return *against;
  if (!may_begin(question)) return Outcome::pending;
  if (decision.means == Method::paths)
    question.decision.may_be_held =
        !streams_.waits_for_nobody(question, SessionStreams::Polling::no);
  const Fate fate = asked.stream == nullptr
                        ? order_.enqueue(question, [&] { return enqueue(question); })
                        : enqueue(question);
  if (is_made(fate.outcome)) {
    uses_.note_queued(question.decision.call, {ends});
    wait_if_blocking(question);
  }
  return fate;
}

// Natively: by the program's own call, unless the copy is timed. In a stream
// that may wait for the program it is not: events fill the driver's queue as
// copies do.
Fate Session::leave(ProgramQuestion& question) {
  Decision& decision = question.decision;
  if (decision.measurement && !streams_.waits_for_nobody(question, SessionStreams::Polling::no))
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

void Session::wait_if_blocking(const ProgramQuestion& question) {
  if (question.asked.blocking && !question.ends.between_gpus())
    engine_.synchronize(question.decision.call.stream);
}

// A copy with no effect on contention is native without a question to the
// engine.
void Session::remember(const ProgramCopy& asked, const Decision& decision) {
  if (decision.stays_native && !decision.time) return recent_.remember(asked, Outcome::native);
  RecentOutcomes::EngineCall engine_call{
      .call = decision.call,
      .context = streams_.context_of_default(asked.stream, decision.call.stream_gpu)};
  recent_.remember(asked, std::move(engine_call));
}

// Copies over several paths may be behind anything: no call and no stream of
// the program waits for contexts of our own. Windows are filled on the host, in
// the program's call, and that may wait only where the driver's own call does.
bool Session::may_begin(const ProgramQuestion& question) {
  const auto& [asked, gpu, ends, decision] = question;
  if (!ends.pageable() || !ends.destination.is_device() || asked.blocking) return true;
  return asked.bytes >= opened_.machine().driver.pageable_in_waits_from ||
         streams_.waits_for_nobody(question, SessionStreams::Polling::yes);
}

Fate Session::enqueue(const ProgramQuestion& question) {
  const CopyResult result = engine_.enqueue_or_leave(question.decision);
  if (result.means == Method::windows) return Outcome::windows;
  if (result.means == Method::native) return {outcome_of(result.obstacle), result.missed};
  return result.executor == Executor::graph ? Outcome::graphs : Outcome::streams;
}

Fate Session::copy(const ProgramBatch& asked) {
  if (executor_ == Executor::native) return Outcome::form;
  SessionBatches::Taken taken;
  const Outcome outcome = batches_.copy(asked, taken);
  if (outcome != Outcome::streams) return outcome;
  uses_.note_queued(taken.first, taken.all);
  uses_.note_staging();
  return outcome;
}

void Session::wait_for_copies_of(Address address) noexcept { uses_.wait_for(address); }

// Not in a stream that may wait for the program: events fill the driver's queue
// as copies do.
std::optional<TracedCopy> Session::begin_traced(const ProgramCopy& asked,
                                                trace::Recorder& recorder) noexcept {
  TracedCopy traced;
  traced.work.kind = trace::Kind::native;
  ignore_errors([&] {
    const std::optional<PlaceId> gpu =
        driver_.contexts().are_alive() ? streams_.place_of(asked.stream) : std::nullopt;
    if (!gpu) return;
    const StreamHandle stream = streams_.handle_of(asked.stream, *gpu);
    if (driver_.is_capturing(stream)) return;
    if (streams_.may_wait(asked.stream, *gpu)) return;
    const auto destination = driver_.find_memory(asked.destination);
    const auto source = driver_.find_memory(asked.source);
    if (!destination || !source) return;
    traced.work.source = source->place;
    traced.work.destination = destination->place;
    traced.work.bytes = asked.bytes;
    traced.begun = recorder.begin(stream);
  });
  if (!traced.begun) return std::nullopt;
  return traced;
}

}  // namespace polypath::preload
