#include "driver/trace/recorder.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <utility>

#include "core/process.h"
#include "driver/trace/trace_file.h"

namespace polypath::trace {
namespace {

constexpr Seconds kLook = 20'000_us;  // a crash loses this much at most

std::atomic<Recorder*> of_this_process{nullptr};

}  // namespace

Recorder::Recorder(Driver& driver, const Machine& machine, Sink sink, Limits limits)
    : driver_(driver),
      generation_(process_generation()),
      spare_(driver),
      inbox_(limits),
      transfers_(driver, streams_, spare_, inbox_, left_out_),
      writer_(driver, machine, streams_, std::move(sink)) {}

Recorder::~Recorder() { finish(); }

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

// An event in a stream that is being captured would become a part of the program's graph.
std::optional<Begun> Recorder::begin(StreamHandle stream) noexcept {
  std::optional<Begun> begun;
  if (!on_ || !is_mine()) return begun;
  carefully([&] {
    const auto is_over = [&](EventHandle event) { return driver_.is_done(event); };
    auto place = inbox_.has_room() ? streams_.enter(stream, is_over) : std::nullopt;
    if (!place) {
      ++left_out_;
      return;
    }
    if (!place->own && driver_.is_capturing(stream)) return;
    begun = Begun{stream, place->gpu, {}, {}, std::move(place->awaited), false};
    begun->event = spare_.take(place->gpu);
    driver_.record(begun->event, stream);
    begun->at = driver_.now();
    begun->counted = true;
    inbox_.note_begin();
  });
  if (begun && !begun->counted) drop(begun);
  return begun;
}

void Recorder::drop(std::optional<Begun>& begun) noexcept {
  if (!begun) return;
  spare_.give_back(begun->gpu, begun->event);
  if (begun->counted) inbox_.note_end();
  begun.reset();
}

void Recorder::end(std::optional<Begun>& begun, const Work& work, int group) noexcept {
  if (!begun) return;
  EventHandle event;
  bool noted = false;
  carefully([&] {
    event = spare_.take(begun->gpu);
    driver_.record(event, begun->stream);
    streams_.put(begun->stream, work.label, event);
    inbox_.add(TimedWork{.work = work,
                         .begun = *begun,
                         .end = event,
                         .issued = driver_.now(),
                         .group = group,
                         .thread = syscall(SYS_gettid)});
    noted = true;
  });
  if (noted) return;
  spare_.give_back(begun->gpu, event);
  drop(begun);
}

void Recorder::note(ProgramCall call) noexcept {
  if (!on_ || !is_mine()) return;
  carefully([&] {
    if (!inbox_.add(ThreadCall{syscall(SYS_gettid), std::move(call)})) ++left_out_;
  });
}

void Recorder::collect() noexcept {
  if (!is_mine()) return;
  const std::scoped_lock lock(collecting_);
  carefully([&] {
    transfers_.add(inbox_.take_work());
    transfers_.read_all();
    write_complete(false);
  });
  writer_.flush();
}

void Recorder::finish() noexcept {
  if (!is_mine() || !on_.exchange(false)) return;
  if (background_) background_->stop();
  const std::scoped_lock lock(collecting_);
  carefully([&] {
    transfers_.add(inbox_.take_work());
    transfers_.read_all();
    end_trace();
  });
  writer_.flush();
  transfers_.clear_clocks();
}

void Recorder::abandon() noexcept {
  if (!is_mine() || !on_.exchange(false)) return;
  if (background_) background_->stop();
  const std::scoped_lock lock(collecting_);
  carefully([&] {
    transfers_.add(inbox_.take_work());
    end_trace();
  });
  writer_.flush();
}

void Recorder::end_trace() {
  write_complete(true);
  writer_.end(left_out_);
}

void Recorder::write_complete(bool all) {
  transfers_.write_complete(all,
                            [this](const std::vector<TimedWork>& parts) { writer_.write(parts); });
  writer_.write(inbox_.take_calls());
}

}  // namespace polypath::trace
