#include "mpi/member.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "communicator/bootstrap/bootstrap.h"
#include "core/error.h"
#include "core/ignore_errors.h"
#include "core/user_folder.h"

namespace polypath::mpi {
namespace {

constexpr Seconds kTimeout{30};  // to join, once all ranks have said that they do
// Programs wait for each other as long as they like: ranks that have ended are found without.
constexpr Seconds kNoTimeout{1e8};
constexpr std::size_t kMostRepeated = 4096;  // some KiB each

// Where kernels cannot run, it is found before the first call. The addresses are not used; they say
// that no rank is in place.
std::vector<CollectiveCall> samples() {
  constexpr Address kInput{1 << 12}, kOutput{1 << 20};
  return {{.collective = Collective::all_gather,
           .reduction = {.type = ElementType::uint8},
           .elements = 1,
           .input = kInput,
           .output = kOutput},
          {.collective = Collective::all_reduce,
           .reduction = {.type = ElementType::float32},
           .elements = 1,
           .input = kInput,
           .output = kOutput}};
}

// A call that needs nothing else than itself, if its addresses are the program's.
bool is_repeatable(const Library& library, const Call& call) {
  switch (call.operation) {
    case Operation::all_reduce:
    case Operation::broadcast:
    case Operation::all_gather:
    case Operation::all_to_all: return true;
    case Operation::gather:
    case Operation::reduce:
    case Operation::reduce_scatter_block: return call.send.memory != library.in_place;
    default: return false;
  }
}

std::string key_of(const Call& call) {
  std::string text;
  const auto add = [&](const auto&... parts) {
    (text.append(reinterpret_cast<const char*>(&parts), sizeof parts), ...);
  };
  add(call.operation, call.send.memory, call.receive.memory, call.send.count, call.send.type,
      call.receive.count, call.receive.type, call.reduction, call.root);
  return text;
}

}  // namespace

Member::Member(const Library& library, Seat seat, Arena& arena, CallStreams& streams,
               Invitation invitation)
    : library_(library),
      seat_(seat),
      arena_(arena),
      streams_(streams),
      invitation_(invitation),
      announcements_(arena, arena.block(static_cast<int>(invitation.block)), seat.rank, seat.size) {
}

Member::~Member() {
  owned_.reset();
  arena_.leave(static_cast<int>(invitation_.block), seat_.size);
}

// In their turn all ranks are on their way to it.
std::vector<Count> Member::exchange(const std::vector<Count>& mine) {
  constexpr int kSpins = 4096;
  return announcements_.exchange(mine, [this, spins = 0]() mutable {
    if (++spins % kSpins != 0) return;
    check();
    std::this_thread::yield();
  });
}

Member::Working::Working(const Surroundings& around, PlaceId place, StreamHandle in,
                         std::unique_ptr<NodeCollectives> made)
    : driver(around.driver),
      gpu(place),
      ranks(std::move(made)),
      stream(in),
      before(around.default_stream(place)),
      scratch(around.driver, place) {}

Member::Working::~Working() {
  ranks->leave();
  for (const EventHandle event : free_events) ignore_errors([&] { driver.destroy_event(event); });
}

EventHandle Member::Working::event() {
  const std::scoped_lock lock(mutex);
  if (free_events.empty()) return driver.create_event(gpu);
  const EventHandle taken = free_events.back();
  free_events.pop_back();
  return taken;
}

// A rank without memory in the call has the GPU of its number, if it can.
PlaceId Member::place_of(const Call& call, const Surroundings& around) const {
  for (const Side* side : {&call.receive, &call.send}) {
    if (side->memory == nullptr || side->memory == library_.in_place || side->parts == 0) continue;
    const auto memory = around.driver.find_memory({reinterpret_cast<std::uintptr_t>(side->memory)});
    if (memory && around.machine.place(memory->place).kind == PlaceKind::gpu) return memory->place;
  }
  return usual_gpu(around, seat_.rank);
}

std::unique_ptr<Member::Working> Member::make(const Call& call, const Open& open) {
  const std::string folder = fmt::format("{}/mpi-{:016x}", usual_user_folder(), invitation_.number);
  auto bootstrap = bootstrap_by_file(folder, seat_.rank, seat_.size, kTimeout);
  const Blob seen = said_of_gpus(open(GpusOf::process).names);
  const Surroundings& around = open(gpus_for_ranks(bootstrap->all_gather(seen, kTimeout)));
  const PlaceId gpu = place_of(call, around);
  const std::vector<Blob> gpus = bootstrap->all_gather(around.machine.place(gpu).name, kTimeout);
  CommunicatorOptions options;
  options.timeout = kTimeout;
  return std::make_unique<Working>(
      around, gpu, streams_.of(around.driver, gpu, around.number_of(gpu)),
      std::make_unique<NodeCollectives>(
          around.driver, around.machine, without_other_gpus(around.settings, around.machine, gpus),
          gpu, std::make_unique<Communicator>(std::move(bootstrap), options)));
}

// All ranks join, or none does. What happens to those that have joined is not heard of here: they
// go on to their first call before the others know.
void Member::join(const Call& call, int gpu, const Open& open) {
  std::unique_ptr<Working> made;
  std::string problem = "another rank cannot take part";
  try {
    made = make(call, open);
    for (const CollectiveCall& sample : samples()) made->ranks->prepare(sample);
    made->ranks->set_timeout(kNoTimeout);
  } catch (const Error& error) {
    made.reset();
    problem = error.what();
  }
  announcements_.note_joined(made != nullptr);
  std::optional<bool> joined;
  while (!(joined = announcements_.have_joined()))
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  if (*joined) {
    if (gpu >= 0) gpu_ = gpu;
    owned_ = std::move(made);
    working_ = owned_.get();
    return;
  }
  why_not_ = problem;
  is_out_ = true;
}

std::optional<EventHandle> Member::mark_default_stream() {
  Working* const working = working_;
  if (working == nullptr) return std::nullopt;
  const EventHandle mark = working->event();
  working->driver.record(mark, working->before);
  return mark;
}

bool Member::can_run(const Call& call, int gpu, const Open& open) {
  if (working_ == nullptr && !is_out_) join(call, gpu, open);
  return working_ != nullptr;
}

EventHandle Member::enqueue(const Call& call, std::optional<EventHandle> mark) {
  Working& here = *owned_;
  const EventHandle event = here.event();  // of the beginning, and then of the end
  if (!mark) here.driver.record(event, here.before);
  here.driver.wait(here.stream, mark.value_or(event));
  if (PersistentCall* const known = repeated(call)) here.ranks->run(*known, here.stream);
  else take_steps(call);
  here.scratch.release_all();  // the next call's use of it comes behind this one's
  here.driver.record(event, here.stream);
  // A simulated stream goes on by itself only once all that it waits for is queued.
  if (!here.driver.simulation().empty()) here.ranks->await_messages();
  return event;
}

bool Member::is_done(EventHandle event) const { return owned_->driver.is_done(event); }

void Member::await(EventHandle event) const {
  owned_->driver.synchronize(event);
  check();
}

void Member::give_back(EventHandle event) noexcept {
  const std::scoped_lock lock(owned_->mutex);
  owned_->free_events.push_back(event);
}

void Member::check() const { owned_->ranks->communicator().check(); }

void Member::copy(const LocalCopy& copy) {
  owned_->driver.copy_native({.destination = copy.to, .source = copy.from, .bytes = copy.bytes},
                             owned_->stream);
}

void Member::take_steps(const Call& call) {
  const auto exchange_counts = [this](const std::vector<Count>& mine) { return exchange(mine); };
  const Steps steps = steps_of(library_, call, seat_, owned_->scratch, exchange_counts);
  for (const LocalCopy& before : steps.before) copy(before);
  for (const CollectiveCall& each : steps.calls) owned_->ranks->run(each, owned_->stream);
  for (const LocalCopy& after : steps.after) copy(after);
}

// Programs make the same calls again and again: the results of the first call are kept.
PersistentCall* Member::repeated(const Call& call) {
  if (!is_repeatable(library_, call)) return nullptr;
  auto& known = owned_->repeated;
  const std::string key = key_of(call);
  if (const auto found = known.find(key); found != known.end()) return &found->second;
  if (known.size() > kMostRepeated) known.clear();
  const auto no_exchange = [](const std::vector<Count>& mine) { return mine; };
  const Steps steps = steps_of(library_, call, seat_, owned_->scratch, no_exchange);
  if (steps.calls.size() != 1 || !steps.before.empty() || !steps.after.empty()) return nullptr;
  return &known.emplace(key, PersistentCall(steps.calls.front())).first->second;
}

void Member::abort(const std::string& why) noexcept {
  if (working_ == nullptr) return;
  ignore_errors([&] {
    owned_->ranks->communicator().abort(
        fmt::format("Rank {} has given up ({}) Correct that first.", seat_.rank, why));
  });
}

}  // namespace polypath::mpi
