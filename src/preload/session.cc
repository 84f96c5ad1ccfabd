#include "preload/session.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/log.h"
#include "engine/load_tracker.h"
#include "engine/node_ledger.h"

namespace polypath::preload {
namespace {

cuda::CudaDriver& gpu_driver(const ChosenMachine& chosen, const Settings& settings) {
  if (auto* driver = dynamic_cast<cuda::CudaDriver*>(chosen.gpus.get())) return *driver;
  if (!settings.machine.empty())
    fail(ErrorCode::invalid_setting,
         fmt::format("POLYPATH_MACHINE={} cannot be used here", settings.machine),
         "it names a machine to simulate, and this program works on real GPUs", "Unset it.");
  fail(ErrorCode::unsupported, "copies cannot be planned", chosen.note);
}

const cuda::Functions& functions() { return cuda::Library::get().functions; }

// Ranks of one program stage through the same GPUs and the same host.
std::shared_ptr<LoadTracker> load_of_the_node(const Machine& machine, const Settings& settings) {
  return std::make_shared<LoadTracker>(machine,
                                       settings.ledger ? open_node_ledger(machine) : nullptr);
}

bool is_device(const MemoryInfo& memory) { return memory.kind == MemoryKind::device; }

bool holds(const MemoryInfo& memory, Address address, Bytes bytes) {
  return bytes.value <= memory.base.value + memory.size.value - address.value;
}

}  // namespace

bool Session::Ends::pageable() const {
  return destination.kind == MemoryKind::pageable || source.kind == MemoryKind::pageable;
}

Session::Session(const Settings& settings)
    : settings_(settings),
      chosen_(choose_machine("", settings)),
      driver_(gpu_driver(chosen_, settings)),
      gpus_(chosen_.machine.places_of(PlaceKind::gpu)),
      engine_(driver_, chosen_.machine, settings_, load_of_the_node(chosen_.machine, settings_)),
      ordered_(driver_) {
  if (!chosen_.note.empty()) log(LogLevel::info, chosen_.note);
}

Outcome Session::copy(const ProgramCopy& asked) {
  if (settings_.executor == "native" || lately_native_.contains(asked)) return Outcome::native;
  if (lately_inside_.contains(asked)) return Outcome::same_memory;
  const Outcome outcome = decide(asked);
  if (outcome == Outcome::same_memory) lately_inside_.remember(asked);
  return outcome;
}

bool Session::imports(const CopyCall& call) const {
  return driver_.imports().find(call.source) || driver_.imports().find(call.destination);
}

// From what is cheap to know to what is not.
Outcome Session::decide(const ProgramCopy& asked) {
  const std::optional<int> gpu = gpu_of(asked.stream);
  if (!gpu || static_cast<std::size_t>(*gpu) >= gpus_.size()) return Outcome::other_context;
  const PlaceId place = gpus_[static_cast<std::size_t>(*gpu)];
  const StreamHandle stream =
      driver_.foreign_stream(place, reinterpret_cast<std::uintptr_t>(asked.stream));
  if (driver_.is_capturing(stream)) return Outcome::capturing;
  Ends ends;
  if (const auto against = look_at_ends(asked, ends)) return *against;
  CopyCall call{
      asked.destination,
      asked.source,
      asked.bytes,
      stream,
      place,
      {},
      true,
      CopyEnds{ends.source.place, ends.destination.place, ends.source.kind, ends.destination.kind}};
  // Every message of another process's memory would change all addresses of a graph.
  if (imports(call) && settings_.executor == "auto") call.options.executor = ExecutorChoice::stream;
  if (const auto against = look_at_plan(call, ends)) {
    if (*against == Outcome::native) lately_native_.remember(asked);
    return *against;
  }
  const bool in_order = asked.stream == nullptr && call.options.executor != ExecutorChoice::native;
  const Outcome outcome = in_order ? enqueue_in_order(call, ends) : enqueue(call, ends);
  if (asked.blocking && static_cast<std::size_t>(outcome) < kAccelerated)
    driver_.synchronize(stream);
  return outcome;
}

// The default streams are the current context's.
std::optional<int> Session::gpu_of(cuda::StreamPointer stream) {
  const auto value = reinterpret_cast<std::uintptr_t>(stream);
  cuda::ContextPointer context = nullptr;
  const cuda::Result result = value == 0 || value == cuda::kStreamPerThread
                                  ? functions().context_current(&context)
                                  : functions().stream_context(stream, &context);
  if (result != cuda::kSuccess || context == nullptr) return std::nullopt;
  return driver_.contexts().gpu_of(context);
}

std::optional<Outcome> Session::look_at(Address address, MemoryInfo& memory) {
  const auto imported = driver_.imports().find(address);
  if (imported && imported->owner == cuda::kOwnerUnknown) return Outcome::owner_unknown;
  if (imported && imported->owner < 0) return Outcome::owner_hidden;
  if (imported && !driver_.imports().mappable(address)) return Outcome::unmappable;
  cuda::MemoryAccess access;
  const auto found = driver_.find_memory(address, &access);
  if (!found) return Outcome::unknown_memory;
  memory = *found;
  if (memory.kind == MemoryKind::managed) return Outcome::managed;
  if (imported || !is_device(memory)) return std::nullopt;
  return look_at_access(access, memory.place);
}

// Memory from pools and of virtual addresses is open only to the GPUs that it has been opened to.
// Every GPU with peer access reaches what cuMemAlloc has allocated in a primary context: that alone
// CUDA lets processes share by handles of the old kind, by which it is told apart.
std::optional<Outcome> Session::look_at_access(const cuda::MemoryAccess& access, PlaceId gpu) {
  if (!access.shareable) return Outcome::own_access;
  // Only of what is a primary context already: asking for the GPU's own would make one.
  const bool primary = access.context != nullptr && driver_.contexts().gpu_of(access.context);
  if (primary && access.context == context_of(gpu)) return std::nullopt;
  return Outcome::other_context;
}

std::optional<Outcome> Session::look_at_ends(const ProgramCopy& asked, Ends& ends) {
  if (const auto against = look_at(asked.destination, ends.destination)) return against;
  if (const auto against = look_at(asked.source, ends.source)) return against;
  if (ends.destination.place == ends.source.place) return Outcome::same_memory;
  if (!is_device(ends.destination) && !is_device(ends.source)) return Outcome::same_memory;
  if (ends.pageable() && asked.bytes < settings_.pageable_min) return Outcome::pageable;
  if (!holds(ends.destination, asked.destination, asked.bytes) ||
      !holds(ends.source, asked.source, asked.bytes))
    return Outcome::unknown_memory;
  return std::nullopt;
}

// What is native on an idle machine stays so on a busy one.
std::optional<Outcome> Session::look_at_plan(CopyCall& call, const Ends& ends) {
  if (ends.pageable()) return std::nullopt;  // the windows are planned one by one
  const PlanPointer plan =
      engine_.plan(ends.source.place, ends.destination.place, call.bytes, call.options);
  if (plan->executor() == Executor::native) {
    if (plan->predicted <= kBriefNativeCopy) return Outcome::native;
    call.options.executor = ExecutorChoice::native;  // the engine only takes note of it
    return std::nullopt;
  }
  if (driver_.imports().empty()) return std::nullopt;
  try {
    map_imports(call, *plan);
  } catch (const Error& error) {
    log(LogLevel::warning, error.what());
    return Outcome::unmappable;
  }
  return std::nullopt;
}

// Before anything is enqueued: mapping takes milliseconds, and may fail.
void Session::map_imports(const CopyCall& call, const Plan& plan) {
  const auto reach = [&](Address address, HopId hop) {
    if (driver_.imports().find(address))
      (void)driver_.imports().reach(address, context_of(chosen_.machine.executing_gpu(hop)));
  };
  for (const PathShape& part : plan.shape.paths) {
    if (!part.path.staged()) continue;
    reach(call.source, part.path.first);
    reach(call.destination, part.path.second);
  }
}

Outcome Session::enqueue(const CopyCall& call, const Ends& ends) {
  const CopyResult result = engine_.copy(call);
  if (result.left_to_caller) return result.plan ? Outcome::native : Outcome::failed;
  if (ends.pageable()) return Outcome::windows;
  return result.executor == Executor::graph ? Outcome::graphs : Outcome::streams;
}

// A copy in the legacy default stream between two GPUs starts after everything that either of them
// has been given before, and what they are given next starts after it.
Outcome Session::enqueue_in_order(const CopyCall& call, const Ends& ends) {
  std::vector<PlaceId> others;
  for (const MemoryInfo& end : {ends.source, ends.destination})
    if (is_device(end) && end.place != call.stream_gpu && may_order_with(end))
      others.push_back(end.place);
  order(call, others, true);
  const Outcome outcome = enqueue(call, ends);
  order(call, others, false);
  return outcome;
}

// The owner of imported memory has its streams in another process. A stream that is captured beside
// the default one must not be disturbed.
bool Session::may_order_with(const MemoryInfo& end) {
  return !driver_.imports().find(end.base) &&
         !driver_.is_capturing(driver_.foreign_stream(end.place, 0));
}

void Session::order(const CopyCall& call, const std::vector<PlaceId>& others, bool before) {
  const std::scoped_lock lock(ordering_);
  // Also where there are no others: what the stream waits for last is then work of its own, for
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

cuda::ContextPointer Session::context_of(PlaceId gpu) {
  const auto found = std::find(gpus_.begin(), gpus_.end(), gpu);
  if (found == gpus_.end())
    fail(ErrorCode::internal, "a place is no GPU", "copies are made in the context of one");
  return driver_.contexts().of(static_cast<int>(found - gpus_.begin()));
}

}  // namespace polypath::preload
