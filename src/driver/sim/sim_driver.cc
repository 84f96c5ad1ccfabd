#include "driver/sim/sim_driver.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/error.h"
#include "driver/sim/sim_graph.h"

namespace polypath::sim {
namespace {

constexpr Seconds kLeastQuery = 0.01_us;

[[noreturn]] void fail_handle(const char* what, std::uintptr_t value) {
  fail(ErrorCode::invalid_argument, fmt::format("{} {} does not exist", what, value),
       "it was never created here, or has been destroyed", "Pass one that is alive.");
}

}  // namespace

SimDriver::SimDriver(Machine machine, Options options)
    : machine_(std::move(machine)),
      costs_(machine_.costs),
      options_(options),
      rates_(machine_),
      fluid_(machine_, rates_),
      memory_(options.move_bytes),
      races_(options.check_races) {
  validate(machine_);
  host_clocks_.emplace_back(static_cast<std::size_t>(machine_.nodes()));
  const auto gpus = machine_.places_of(PlaceKind::gpu);
  streams_[StreamHandle{}] = {gpus.empty() ? PlaceId{} : gpus.front(), nullptr,
                              races_.add_thread()};
  signals_.thread = races_.add_thread();
}

SimDriver::~SimDriver() { fluid_.drain(); }

Seconds SimDriver::now() {
  const std::scoped_lock lock(mutex_);
  const NodeClocks& clocks = host_clocks_[host_thread_];
  return *std::max_element(clocks.begin(), clocks.end());
}

Seconds SimDriver::meet_nodes() {
  NodeClocks& clocks = host_clocks_[host_thread_];
  const Seconds latest = *std::max_element(clocks.begin(), clocks.end());
  std::fill(clocks.begin(), clocks.end(), latest);
  return latest;
}

void SimDriver::check_gpu(PlaceId place) const {
  const bool known = place.valid() && place.index() < machine_.places.size();
  if (known && machine_.place(place).kind == PlaceKind::gpu) return;
  const std::string name =
      known ? machine_.place(place).name : fmt::format("place number {}", place.value);
  fail(ErrorCode::invalid_argument, name + " is no GPU", "streams and events belong to GPUs",
       "Pass a GPU of the machine.");
}

StreamHandle SimDriver::create_stream(PlaceId gpu) {
  const std::scoped_lock lock(mutex_);
  check_gpu(gpu);
  count(Call::create_stream);
  const StreamHandle handle{next_handle_++};
  streams_[handle] = {gpu, nullptr, races_.add_thread()};
  return handle;
}

void SimDriver::destroy_stream(StreamHandle stream) {
  const std::scoped_lock lock(mutex_);
  const std::size_t thread = stream_of(stream).thread;
  order_.perform(thread, [this, thread] { races_.retire_thread(thread); });
  streams_.erase(stream);
  count(Call::destroy_stream);
}

StreamHandle SimDriver::foreign_stream(PlaceId, std::uintptr_t stream) {
  fail(ErrorCode::unsupported, fmt::format("stream 0x{:x} cannot be used", stream),
       "a simulated machine has no streams but its own", "Create one with it.");
}

bool SimDriver::is_capturing(StreamHandle stream) {
  const std::scoped_lock lock(mutex_);
  (void)stream_of(stream);
  return false;  // nothing here can be captured
}

EventHandle SimDriver::create_event(PlaceId gpu) {
  const std::scoped_lock lock(mutex_);
  check_gpu(gpu);
  count(Call::create_event);
  const EventHandle handle{next_handle_++};
  events_[handle].gpu = gpu;
  return handle;
}

void SimDriver::destroy_event(EventHandle event) {
  const std::scoped_lock lock(mutex_);
  (void)event_of(event);
  events_.erase(event);
  count(Call::destroy_event);
}

void SimDriver::record(EventHandle event, StreamHandle stream) {
  const std::scoped_lock lock(mutex_);
  Event& recorded = event_of(event);
  const Stream& source = stream_of(stream);
  if (recorded.gpu != source.gpu)
    fail(ErrorCode::invalid_argument,
         fmt::format("event {} of {} cannot be recorded on stream {} of {}", event.value,
                     machine_.place(recorded.gpu).name, stream.value,
                     machine_.place(source.gpu).name),
         "an event is recorded by the GPU it was created for", "Use one event per GPU.");
  count(Call::record);
  issue_at(source.gpu);
  spend(costs_.event_record);
  recorded = {recorded.gpu, true, source.tail, order_.mark(source.thread), host()};
}

void SimDriver::wait(StreamHandle stream, EventHandle event) {
  const std::scoped_lock lock(mutex_);
  Stream& waiting = stream_of(stream);
  const Event& awaited = event_of(event);
  count(Call::wait);
  issue_at(waiting.gpu);
  spend(costs_.event_wait);
  if (!awaited.recorded) {
    report(fmt::format("stream {} waits for event {}, which was never recorded", stream.value,
                       event.value));
    return;
  }
  const ActivityPointer marker = make_marker();
  Fluid::order(waiting.tail, marker, {});
  Fluid::order(awaited.activity, marker, crossing_delay(awaited.activity, waiting.gpu));
  fluid_.submit(marker);
  waiting.tail = marker;
  waiting.waited = true;
  order_.join(waiting.thread, awaited.moment);
}

bool SimDriver::is_done(EventHandle event) {
  const std::scoped_lock lock(mutex_);
  const Event& asked = event_of(event);
  count(Call::is_done);
  // A query and a record are both one look at the channel. It takes some time on any machine, so
  // that a caller that polls is answered at last.
  spend(std::max(costs_.event_record, kLeastQuery));
  fluid_.advance_to(meet_nodes());
  const bool done = !asked.activity || asked.activity->done;
  if (done && asked.moment) races_.join_host(asked.moment->clock);
  return done;
}

std::optional<Seconds> SimDriver::elapsed(EventHandle begin, EventHandle end) {
  const std::scoped_lock lock(mutex_);
  count(Call::elapsed);
  spend(std::max(costs_.event_record, kLeastQuery));
  fluid_.advance_to(meet_nodes());
  for (const EventHandle event : {begin, end})
    if (!event_of(event).recorded)
      fail(ErrorCode::invalid_argument, fmt::format("event {} has no time", event.value),
           "it was never recorded", "Record it first.");
  const auto from = time_of(event_of(begin)), to = time_of(event_of(end));
  if (!from || !to) return std::nullopt;
  return *to - *from;
}

void SimDriver::synchronize(StreamHandle stream) {
  const std::scoped_lock lock(mutex_);
  const Stream& awaited = stream_of(stream);
  count(Call::synchronize);
  if (awaited.tail) play_until(*awaited.tail, "stream", stream.value);
  spend(costs_.synchronize);
  races_.join_host(races_.clock(awaited.thread));
}

void SimDriver::synchronize(EventHandle event) {
  const std::scoped_lock lock(mutex_);
  const Event& awaited = event_of(event);
  count(Call::synchronize);
  if (awaited.activity) play_until(*awaited.activity, "event", event.value);
  spend(costs_.synchronize);
  if (awaited.moment) races_.join_host(awaited.moment->clock);
}

void SimDriver::play_until(const Activity& activity, const char* what, std::uintptr_t handle) {
  if (!fluid_.play_until(activity))
    fail(ErrorCode::driver, fmt::format("{} {} never finishes", what, handle),
         flags_.are_awaited() ? "something in it waits for a flag that is never written"
                              : "nothing is left that could end it",
         "Enqueue the write before you wait.");
  host() = std::max(meet_nodes(), activity.finished);
  (void)meet_nodes();
}

void SimDriver::copy(const CopyRequest& request, StreamHandle stream) {
  const std::scoped_lock lock(mutex_);
  enqueue_copy(request, stream_of(stream));
}

void SimDriver::enqueue_copy(const CopyRequest& request, Stream& target) {
  check_copy(request);
  const HopId hop = hop_of(request);
  count(Call::copy);
  enqueue(request, hop, std::nullopt, target);
}

void SimDriver::enqueue(const CopyRequest& request, HopId hop,
                        const std::optional<Reduction>& reduction, Stream& target) {
  issue_at(target.gpu);
  spend(costs_.copy);
  step(request, target.thread);
  append(make_activity(request, hop, reduction), target);
}

void SimDriver::append(const ActivityPointer& activity, Stream& target) {
  Fluid::order(target.tail, activity, {});
  activity->waits = std::exchange(target.waited, false);
  fluid_.submit(activity);
  target.tail = activity;
}

void SimDriver::check_copy(const CopyRequest& request) const {
  if (request.bytes.value == 0)
    fail(ErrorCode::invalid_argument, "a copy of 0 bytes", "there is nothing to copy");
  (void)memory_.check(request.source, request.bytes, request.source_place, "source");
  (void)memory_.check(request.destination, request.bytes, request.destination_place, "destination");
  if (request.source + request.bytes <= request.destination ||
      request.destination + request.bytes <= request.source)
    return;
  fail(ErrorCode::invalid_argument, "the source and the destination of a copy overlap",
       "the result would depend on the order of bytes", "Copy through a third buffer.");
}

// No hop within one place: such a copy takes no time here.
HopId SimDriver::hop_of(const CopyRequest& request) const {
  if (request.source_place == request.destination_place) return {};
  const auto hop = machine_.find_hop(request.source_place, request.destination_place);
  if (hop) return {hop->value, request.pulled};
  fail(ErrorCode::invalid_argument,
       fmt::format("no copy leads from {} to {}", machine_.place(request.source_place).name,
                   machine_.place(request.destination_place).name),
       "the machine has no hop between them");
}

ActivityPointer SimDriver::make_activity(const CopyRequest& request, HopId hop,
                                         const std::optional<Reduction>& reduction) {
  auto activity = std::make_shared<Activity>();
  activity->hop = hop;
  activity->bytes = request.bytes;
  activity->issued = host();
  if (reduction) {
    activity->gpu = request.destination_place;
    activity->duration = machine_.reduction_time(activity->gpu, request.bytes);
  }
  if (!options_.move_bytes && !options_.record_trace) return activity;
  // The blocks are kept so that the bytes outlive a premature free, which is reported.
  activity->on_done = [this, request, reduction, from = memory_.find(request.source),
                       to = memory_.find(request.destination)](const Activity& done) {
    if (options_.move_bytes) move_bytes(request, reduction, *to, *from);
    note_finished(request.label, done);
  };
  return activity;
}

void SimDriver::move_bytes(const CopyRequest& request, const std::optional<Reduction>& reduction,
                           const Block& to, const Block& from) const {
  std::byte* const destination = to.bytes_at(request.destination);
  const std::byte* const source = from.bytes_at(request.source);
  if (reduction) reduce_on_host(*reduction, destination, source, request.bytes);
  else std::memmove(destination, source, request.bytes.value);
  Flip* const flip = options_.flip;
  if (flip == nullptr || ++flip->done != flip->at) return;
  constexpr std::uint64_t kMost = 8;
  for (std::uint64_t i = 0; i < std::min(kMost, request.bytes.value); ++i)
    destination[i] ^= std::byte{0xff};
}

void SimDriver::note_finished(const CopyLabel& label, const Activity& done) {
  if (options_.record_trace)
    trace_.push_back(
        {label, done.hop, done.bytes, done.ready, done.started, done.finished, done.gpu});
}

ActivityPointer SimDriver::make_marker() const {
  auto marker = std::make_shared<Activity>();
  marker->issued = host();
  return marker;
}

// The delay of work of `gpu` that waits for `earlier` on another stream, once both are ready.
Seconds SimDriver::crossing_delay(const ActivityPointer& earlier, PlaceId gpu) const {
  if (!earlier) return {};
  if (earlier->hop.valid()) return machine_.wait_latency(earlier->hop, gpu);
  return earlier->gpu.valid() ? machine_.wait_latency(earlier->gpu, gpu) : Seconds{};
}

SimDriver::Stream& SimDriver::stream_of(StreamHandle handle) {
  const auto found = streams_.find(handle);
  if (found == streams_.end()) fail_handle("stream", handle.value);
  return found->second;
}

SimDriver::Event& SimDriver::event_of(EventHandle handle) {
  const auto found = events_.find(handle);
  if (found == events_.end()) fail_handle("event", handle.value);
  return found->second;
}

SimDriver::Graph& SimDriver::graph_of(GraphHandle handle) {
  const auto found = graphs_.find(handle);
  if (found == graphs_.end()) fail_handle("graph", handle.value);
  return *found->second;
}

}  // namespace polypath::sim
