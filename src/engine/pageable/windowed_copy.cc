#include "engine/pageable/windowed_copy.h"

#include <algorithm>
#include <thread>

namespace polypath::engine {
namespace {

// Of 16 to 96 MiB and all the best for messages of 4 to 512 MiB, with 16 threads that have 2 MiB of
// such a cache each (results/h200x1/pageable_choices.json).
constexpr Bytes kLeftInCaches = 16_MiB;
// The caches of 16 cores do not hold a longer message that comes out of a GPU, and each line of
// memory that is written by way of them is read before. Out of two H200s into memory that was not
// copied to lately 32 MiB come at 45 to 51 GB/s instead of 33 to 42, 128 MiB at 62 to 77 instead of
// 46 to 52, and are read as fast afterwards (results/h200x2/pageable_out_cold.json). Cost: 64 MiB
// into the same memory again and again come at 53 to 55 instead of 54 to 58 (pageable_out.json).
constexpr Bytes kFirstPastCaches = 32_MiB;

}  // namespace

WindowedCopy::WindowedCopy(const WindowedMeans& means, const CopyCall& call, const CopyEnds& ends)
    : means_(means),
      slots_(means.ring, means.window),
      call_(call),
      ends_(ends),
      inward_(ends.source_kind == MemoryKind::pageable),
      gpu_(inward_ ? ends.destination : ends.source),
      count_((call.bytes.value + means.window.value - 1) / means.window.value) {
  tickets_.reserve(count_);
}

WindowedCopy::~WindowedCopy() { means_.threads.finish(); }

std::size_t WindowedCopy::slots_used() const { return std::min(count_, slots_.count()); }

Bytes WindowedCopy::offset_of(std::size_t window) const { return means_.window * window; }

Bytes WindowedCopy::bytes_of(std::size_t window) const {
  return std::min(means_.window, call_.bytes - offset_of(window));
}

CopyResult WindowedCopy::run() {
  prepare();
  inward_ ? into_gpu() : out_of_gpu();
  return last_;
}

// Creates the events now, so that a failure leaves nothing to wait for.
void WindowedCopy::prepare() {
  for (std::size_t i = 0; i < slots_used(); ++i)
    for (const PlaceId gpu : {gpu_, call_.stream_gpu}) (void)slots_.done(i).on(gpu);
}

void WindowedCopy::into_gpu() {
  while (sent_ < count_) {
    const bool may_fill = copying_ < std::min(count_, sent_ + slots_.count());
    if (may_fill && slots_.is_idle(slot(copying_))) start_copying();
    else if (sent_ < copying_ && means_.threads.is_done(tickets_[sent_])) send_next();
    else pass_the_time();
  }
  // Not for the windows of other copies: their streams are no business of this one.
  for (std::size_t i = 0; i < slots_used(); ++i)
    if (const EventHandle pending = slots_.pending(i); pending.value != 0)
      means_.driver.wait(call_.stream, pending);
}

void WindowedCopy::out_of_gpu() {
  std::size_t emptied = 0;
  while (emptied < count_) {
    const bool may_send = sent_ < std::min(count_, emptied + slots_.count());
    // Arrived windows come first: sending another window takes longer than handing one over.
    if (copying_ < sent_ && slots_.is_idle(slot(copying_))) start_copying();
    else if (may_send && slots_.is_idle(slot(sent_))) send_next();
    else if (emptied < copying_ && means_.threads.is_done(tickets_[emptied])) ++emptied;
    else pass_the_time();
  }
}

// A GPU reads slowly what lies changed in the caches of the cores. Later windows push out what was
// written before, into the cache that all cores share, from where it is read at full speed. Nothing
// pushes out the end of a message.
Stores WindowedCopy::stores_for(Bytes offset) const {
  const bool is_near_end = call_.bytes <= offset + kLeftInCaches;
  const bool past = inward_ ? is_near_end : call_.bytes >= kFirstPastCaches;
  return past ? Stores::past_caches : Stores::in_caches;
}

// The threads fill or empty the next window.
void WindowedCopy::start_copying() {
  const Bytes offset = offset_of(copying_);
  const Address pinned = slots_.base(slot(copying_));
  const Address to = inward_ ? pinned : call_.destination + offset;
  const Address from = inward_ ? call_.source + offset : pinned;
  tickets_.push_back(means_.threads.start({.destination = to,
                                           .source = from,
                                           .bytes = bytes_of(copying_),
                                           .stores = stores_for(offset)}));
  ++copying_;
}

void WindowedCopy::send_next() {
  const std::size_t used = slot(sent_);
  const Bytes offset = offset_of(sent_);
  CopyCall part{.destination = call_.destination,
                .source = call_.source,
                .bytes = bytes_of(sent_),
                .stream = means_.stream.value_or(call_.stream),
                .stream_gpu = means_.stream ? gpu_ : call_.stream_gpu,
                .options = call_.options};
  CopyEnds ends = ends_;
  (inward_ ? part.source : part.destination) = slots_.base(used);
  (inward_ ? ends.source_kind : ends.destination_kind) = MemoryKind::pinned;
  Address& far = inward_ ? part.destination : part.source;
  far = far + offset;
  const auto sent = means_.send({.call = part,
                                 .ends = ends,
                                 .callers = call_.stream,
                                 .callers_gpu = call_.stream_gpu,
                                 .done = slots_.done(used)});
  last_ = sent.result;
  slots_.note_sent(used, sent.done);
  ++sent_;
}

// Another thread may need the core more than one that only waits.
void WindowedCopy::pass_the_time() {
  if (!means_.threads.help()) std::this_thread::yield();
}

}  // namespace polypath::engine
