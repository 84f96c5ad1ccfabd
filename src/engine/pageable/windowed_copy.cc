#include "engine/pageable/windowed_copy.h"

#include <algorithm>
#include <thread>

namespace polypath::engine {

WindowedCopy::WindowedCopy(const WindowedMeans& means, const CopyCall& call, const CopyEnds& ends)
    : means_(means),
      call_(call),
      ends_(ends),
      inward_(ends.source_kind == MemoryKind::pageable),
      gpu_(inward_ ? ends.destination : ends.source),
      count_((call.bytes.value + means.window.value - 1) / means.window.value) {
  tickets_.reserve(count_);
}

WindowedCopy::~WindowedCopy() { means_.threads.finish(); }

PinnedWindow& WindowedCopy::slot(std::size_t window) const {
  return *means_.ring.windows[window % means_.ring.windows.size()];
}

std::size_t WindowedCopy::slots_used() const {
  return std::min(count_, means_.ring.windows.size());
}

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
    for (const PlaceId gpu : {gpu_, call_.stream_gpu}) (void)slot(i).done.on(gpu);
}

void WindowedCopy::into_gpu() {
  while (sent_ < count_) {
    const bool may_fill = copying_ < std::min(count_, sent_ + means_.ring.windows.size());
    if (may_fill && is_idle(slot(copying_))) start_copying();
    else if (sent_ < copying_ && means_.threads.is_done(tickets_[sent_])) send_next();
    else pass_the_time();
  }
  // Not for the windows of other copies: their streams are no business of this one.
  for (std::size_t i = 0; i < slots_used(); ++i)
    if (slot(i).pending.value != 0) means_.driver.wait(call_.stream, slot(i).pending);
}

void WindowedCopy::out_of_gpu() {
  std::size_t emptied = 0;
  while (emptied < count_) {
    const bool may_send = sent_ < std::min(count_, emptied + means_.ring.windows.size());
    // Arrived windows come first: sending another window takes longer than handing one over.
    if (copying_ < sent_ && is_idle(slot(copying_))) start_copying();
    else if (may_send && is_idle(slot(sent_))) send_next();
    else if (emptied < copying_ && means_.threads.is_done(tickets_[emptied])) ++emptied;
    else pass_the_time();
  }
}

bool WindowedCopy::is_idle(PinnedWindow& asked) {
  if (asked.pending.value != 0 && means_.driver.is_done(asked.pending)) asked.pending = {};
  return asked.pending.value == 0;
}

// The threads fill or empty the next window.
void WindowedCopy::start_copying() {
  const Bytes offset = offset_of(copying_);
  const Address pinned = slot(copying_).base;
  const Address to = inward_ ? pinned : call_.destination + offset;
  const Address from = inward_ ? call_.source + offset : pinned;
  tickets_.push_back(means_.threads.start(to, from, bytes_of(copying_)));
  ++copying_;
}

void WindowedCopy::send_next() {
  PinnedWindow& used = slot(sent_);
  const Bytes offset = offset_of(sent_);
  CopyCall part{.destination = call_.destination,
                .source = call_.source,
                .bytes = bytes_of(sent_),
                .stream = means_.stream.value_or(call_.stream),
                .stream_gpu = means_.stream ? gpu_ : call_.stream_gpu,
                .options = call_.options};
  CopyEnds ends = ends_;
  (inward_ ? part.source : part.destination) = used.base;
  (inward_ ? ends.source_kind : ends.destination_kind) = MemoryKind::pinned;
  Address& far = inward_ ? part.destination : part.source;
  far = far + offset;
  const auto sent = means_.send({.call = part,
                                 .ends = ends,
                                 .callers = call_.stream,
                                 .callers_gpu = call_.stream_gpu,
                                 .done = used.done});
  last_ = sent.result;
  used.pending = sent.done;
  ++sent_;
}

// Another thread may need the core more than one that only waits.
void WindowedCopy::pass_the_time() {
  if (!means_.threads.help()) std::this_thread::yield();
}

}  // namespace polypath::engine
