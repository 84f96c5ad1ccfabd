#include "driver/trace/recorder.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <set>
#include <utility>

#include "core/ignore_errors.h"
#include "core/process.h"
#include "driver/trace/trace_file.h"

namespace polypath::trace {
namespace {

constexpr Seconds kLook = 20'000_us;  // a crash loses this much at most

std::atomic<Recorder*> of_this_process{nullptr};

std::vector<std::string> names_of_places(const Machine& machine) {
  std::vector<std::string> names;
  for (const Place& place : machine.places) names.push_back(place.name);
  return names;
}

// When the driver's clock says `now`, as it does.
std::int64_t unix_nanoseconds_at_origin(Seconds now) {
  const auto time = std::chrono::system_clock::now().time_since_epoch();
  const auto since = std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>(now.value));
  return (std::chrono::duration_cast<std::chrono::nanoseconds>(time) - since).count();
}

// "python3 2251".
std::string process_label() { return program_name() + " " + std::to_string(getpid()); }

}  // namespace

Recorder::Recorder(Driver& driver, const Machine& machine, Sink sink, Limits limits)
    : driver_(driver),
      places_(names_of_places(machine)),
      sink_(std::move(sink)),
      limits_(limits),
      process_(getpid()),
      generation_(process_generation()),
      clocks_(driver) {
  const std::string host = driver.name() == "sim" ? machine.name + " (simulated)" : machine.name;
  events_ = {origin_event(process_, unix_nanoseconds_at_origin(driver.now())),
             process_event(process_, process_label() + " on " + host)};
}

Recorder::~Recorder() {
  finish();
  for (const auto& [gpu, events] : spare_)
    for (const EventHandle event : events) ignore_errors([&] { driver_.destroy_event(event); });
}

Recorder* Recorder::of_process() noexcept {
  return of_this_process.load(std::memory_order_acquire);
}

Recorder* Recorder::of_process(Driver& driver, const Machine& machine, const std::string& pattern) {
  static std::mutex mutex;
  const std::scoped_lock lock(mutex);
  if (pattern.empty() || of_process() != nullptr) return pattern.empty() ? nullptr : of_process();
  // Kept by the recorder, which is never destroyed: at exit CUDA may be gone before us.
  const auto file = std::make_shared<TraceFile>(path_for_this_process(pattern));
  if (!file->is_open()) return nullptr;
  auto* recorder = new Recorder(
      driver, machine, [file](const std::vector<std::string>& events) { file->add(events); });
  recorder->watch();
  of_this_process.store(recorder, std::memory_order_release);
  static const auto& close = *new std::function<void()>([file] { file->close(); });
  std::atexit([] {
    if (!of_process()->is_mine()) return;
    of_process()->finish();
    close();
  });
  return recorder;
}

// A forked child has its parent's memory, but not its GPUs.
bool Recorder::is_mine() const noexcept { return process_generation() == generation_; }

void Recorder::watch() {
  background_ = std::make_unique<Background>();
  background_->post([this] {
    do collect();
    while (background_->pause(kLook));
  });
}

// After any error the program goes on.
template <class Action>
void Recorder::carefully(Action action) noexcept {
  try {
    action();
  } catch (const std::exception&) {
    ++left_out_;
  }
}

EventHandle Recorder::take_event(PlaceId gpu) {
  {
    const std::scoped_lock lock(mutex_);
    if (auto& spare = spare_[gpu]; !spare.empty()) {
      const EventHandle event = spare.back();
      spare.pop_back();
      return event;
    }
  }
  return driver_.create_timing_event(gpu);
}

void Recorder::give_back(PlaceId gpu, EventHandle event) noexcept {
  if (event.value == 0) return;
  const std::scoped_lock lock(mutex_);
  spare_[gpu].push_back(event);
}

void Recorder::give_back(const Timed& timed) noexcept {
  give_back(timed.begun.gpu, timed.begun.event);
  give_back(timed.begun.gpu, timed.end);
}

// An event in a stream that is being captured would become a part of the program's graph.
std::optional<Begun> Recorder::begin(StreamHandle stream) noexcept {
  std::optional<Begun> begun;
  if (!on_ || !is_mine()) return begun;
  carefully([&] {
    const auto is_over = [&](EventHandle event) { return driver_.is_done(event); };
    auto place = in_flight_ < limits_.in_flight ? streams_.enter(stream, is_over) : std::nullopt;
    if (!place) {
      ++left_out_;
      return;
    }
    if (!place->own && driver_.is_capturing(stream)) return;
    begun = Begun{stream, place->gpu, {}, {}, std::move(place->awaited), false};
    begun->event = take_event(place->gpu);
    driver_.record(begun->event, stream);
    begun->at = driver_.now();
    begun->counted = true;
    ++in_flight_;
  });
  if (begun && !begun->counted) drop(begun);
  return begun;
}

void Recorder::drop(std::optional<Begun>& begun) noexcept {
  if (!begun) return;
  give_back(begun->gpu, begun->event);
  if (begun->counted) --in_flight_;
  begun.reset();
}

void Recorder::end(std::optional<Begun>& begun, const Work& work, int group) noexcept {
  if (!begun) return;
  EventHandle event;
  bool noted = false;
  carefully([&] {
    event = take_event(begun->gpu);
    driver_.record(event, begun->stream);
    streams_.put(begun->stream, work.label, event);
    const std::scoped_lock lock(mutex_);
    new_.push_back({.work = work,
                    .begun = *begun,
                    .end = event,
                    .issued = driver_.now(),
                    .group = group,
                    .thread = syscall(SYS_gettid)});
    noted = true;
  });
  if (noted) return;
  give_back(begun->gpu, event);
  drop(begun);
}

void Recorder::note(ProgramCall call) noexcept {
  if (!on_ || !is_mine()) return;
  carefully([&] {
    const std::scoped_lock lock(mutex_);
    if (calls_.size() < limits_.calls) calls_.emplace_back(syscall(SYS_gettid), std::move(call));
    else ++left_out_;
  });
}

void Recorder::collect() noexcept {
  if (!is_mine()) return;
  const std::scoped_lock lock(collecting_);
  carefully([&] {
    take_new();
    read_all();
    write_complete(false);
    write_calls();
  });
  flush();
}

void Recorder::finish() noexcept {
  if (!is_mine() || !on_.exchange(false)) return;
  if (background_) background_->stop();
  const std::scoped_lock lock(collecting_);
  carefully([&] {
    take_new();
    read_all();
    end_trace();
  });
  flush();
  clocks_.clear();
}

void Recorder::abandon() noexcept {
  if (!is_mine() || !on_.exchange(false)) return;
  if (background_) background_->stop();
  const std::scoped_lock lock(collecting_);
  carefully([&] {
    take_new();
    end_trace();
  });
  flush();
}

void Recorder::end_trace() {
  write_complete(true);
  write_calls();
  events_.push_back(summary_event(process_, written_, left_out_));
}

void Recorder::flush() noexcept {
  sink_(events_);
  events_.clear();
}

void Recorder::take_new() {
  std::vector<Timed> taken;
  {
    const std::scoped_lock lock(mutex_);
    taken.swap(new_);
  }
  for (Timed& timed : taken) {
    const std::uint64_t transfer = timed.work.label.transfer;
    const TransferKey key =
        transfer != 0 ? TransferKey{timed.group, transfer} : TransferKey{-1, ++next_single_};
    transfers_[key].parts.push_back(std::move(timed));
  }
}

// In the order of issue, so that of two pieces in one stream the earlier one is read first; pieces
// behind an unfinished piece are unfinished, too.
void Recorder::read_all() {
  std::vector<Timed*> all;
  for (auto& [key, transfer] : transfers_)
    for (Timed& timed : transfer.parts)
      if (!timed.over) all.push_back(&timed);
  std::stable_sort(all.begin(), all.end(),
                   [](const Timed* a, const Timed* b) { return a->begun.at < b->begun.at; });
  std::set<StreamHandle> blocked;
  for (Timed* timed : all)
    if (!blocked.contains(timed->begun.stream) && !read(*timed))
      blocked.insert(timed->begun.stream);
}

// False while it is under way. A piece that cannot be read at all is over, and left out.
bool Recorder::read(Timed& timed) {
  try {
    const auto taken = driver_.elapsed(timed.begun.event, timed.end);
    const auto started = taken ? clocks_.time_of(timed.begun.gpu, timed.begun.event) : taken;
    if (!started) return false;
    timed.work.started = *started;
    timed.work.finished = *started + *taken;
    const Seconds before = streams_.exchange_end(timed.begun.stream, timed.work.finished);
    timed.work.ready = std::min(std::max(timed.issued, before), timed.work.started);
  } catch (const std::exception&) {
    timed.work.started = Seconds::infinity();
  }
  give_back(timed);
  --in_flight_;
  return timed.over = true;
}

void Recorder::write_complete(bool all) {
  for (auto entry = transfers_.begin(); entry != transfers_.end();) {
    auto& [key, transfer] = *entry;
    const bool is_over = std::all_of(transfer.parts.begin(), transfer.parts.end(),
                                     [](const Timed& timed) { return timed.over; });
    const bool grows =
        transfer.parts.size() != std::exchange(transfer.looked_at, transfer.parts.size());
    if (!all && (!is_over || grows)) {
      ++entry;
      continue;
    }
    for (const Timed& timed : transfer.parts)
      if (!timed.over) give_back(timed);
    const auto lost = std::erase_if(transfer.parts, [](const Timed& timed) {
      return !timed.over || timed.work.started == Seconds::infinity();
    });
    left_out_ += lost;
    write(transfer.parts);
    entry = transfers_.erase(entry);
  }
}

}  // namespace polypath::trace
