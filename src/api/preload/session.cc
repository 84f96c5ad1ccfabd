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
      executor_(parse_executor(settings.executor)),
      natives_(opened_, driver_, engine_, streams_, memory_, uses_, executor_) {
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
  const auto recent = natives_.recent().find(asked);
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
  if (found > 0) natives_.recent().end(asked);
  const Fate fate = decide(asked, std::max(0, found - 1));
  if (fate.outcome == Outcome::reads_peer) natives_.recent().remember(asked, fate.outcome);
  return fate;
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
      natives_.recent().remember(asked, *against);
    return *against;
  }
  CopyCall call = call_of(asked, stream, *gpu, ends, executor_);
  call.cautious = true;
  call.unasked = unasked;
  ProgramQuestion question{asked, *gpu, ends, engine_.decide(call, ends.for_engine())};
  const Fate fate = carry_out(question);
  if (fate.outcome == Outcome::preparing) natives_.remember_preparing(asked, ends);
  return fate;
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
  if (decision.stays_native && !decision.time)
    return natives_.recent().remember(asked, Outcome::native);
  RecentOutcomes::EngineCall engine_call{
      .call = decision.call,
      .context = streams_.context_of_default(asked.stream, decision.call.stream_gpu)};
  natives_.recent().remember(asked, std::move(engine_call));
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
