#include "engine/pageable/pinned_windows.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/ignore_errors.h"

namespace polypath::engine {
namespace {

// Below this the fixed cost of a window (issue, event, wake-up: tens of microseconds) shows beside
// the copying of its bytes.
constexpr Bytes kLeastWindow = 2_MiB;
// The first window's filling or the last one's emptying overlaps with nothing: one part in sixteen.
constexpr std::uint64_t kWindowsPerMessage = 16;
// Three of them reach half of what all windows do (two H100s, results/h100x2/windows.json).
constexpr Bytes kFirstWindow = 4_MiB;

Bytes round_up(Bytes bytes, Bytes unit) {
  return {(bytes.value + unit.value - 1) / unit.value * unit.value};
}

std::uint64_t units_in(Bytes largest) {
  return std::max<std::uint64_t>(largest.value / kLeastWindow.value, 1);
}

// So that the largest window is a whole number of them.
Bytes unit_of(Bytes largest) {
  return round_up({(largest.value + units_in(largest) - 1) / units_in(largest)}, 512_B);
}

}  // namespace

PinnedWindows::PinnedWindows(Driver& used_driver, PlaceId host, Bytes largest, int count)
    : driver(used_driver), window(largest), unit(unit_of(largest)) {
  const std::uint64_t all = units_in(largest) * static_cast<std::uint64_t>(count);
  base = driver.allocate(host, unit * all);
  for (std::uint64_t i = 0; i < all; ++i)
    units.push_back(std::make_unique<PinnedUnit>(driver, base + unit * i));
}

PinnedWindows::~PinnedWindows() {
  if (!lost) ignore_errors([&] { driver.free(base); });
}

EqualWindows::EqualWindows(PinnedWindows& memory, Bytes window)
    : memory_(memory), units_each_((window.value + memory.unit.value - 1) / memory.unit.value) {}

void EqualWindows::note_sent(std::size_t window, EventHandle event) {
  for (std::size_t i = 0; i < units_each_; ++i)
    memory_.units[window * units_each_ + i]->pending = event;
}

// To ask for an event takes microseconds, and the units of a window have one in common. An event of
// another message may have been recorded again since, behind later work: then the units that it was
// recorded for are idle later than they could be.
bool EqualWindows::is_idle(std::size_t window) {
  EventHandle known_done;
  for (std::size_t i = 0; i < units_each_; ++i) {
    EventHandle& pending = memory_.units[window * units_each_ + i]->pending;
    if (pending.value == 0) continue;
    if (pending != known_done && !memory_.driver.is_done(pending)) return false;
    known_done = std::exchange(pending, {});
  }
  return true;
}

Bytes bytes_of_window(Bytes bytes, Bytes most) {
  const Bytes fraction = round_up({bytes.value / kWindowsPerMessage}, 64_KiB);
  const Bytes window = std::clamp(fraction, std::min(kLeastWindow, most), most);
  // All windows alike: a short one at the end would cost as many calls as a long one.
  const std::uint64_t count = (bytes.value + window.value - 1) / window.value;
  return round_up({(bytes.value + count - 1) / count}, 512_B);
}

// Some have gone in streams of the callers.
WindowsByHost::~WindowsByHost() {
  for (auto& [host, rings] : windows_)
    for (const auto& ring : rings)
      for (const auto& unit : ring->units)
        if (unit->pending.value != 0 && !ignore_errors([&] { driver_.synchronize(unit->pending); }))
          ring->lost = true;
}

Bytes WindowsByHost::window_for(WindowsMade wanted) const {
  return wanted == WindowsMade::all ? window_ : std::min(window_, kFirstWindow);
}

double WindowsByHost::share_of(WindowsMade wanted) const {
  return static_cast<double>(window_for(wanted).value) / static_cast<double>(window_.value);
}

bool WindowsByHost::are_at(PlaceId host, WindowsMade wanted) const {
  const std::scoped_lock lock(mutex_);
  const auto found = windows_.find(host);
  return found != windows_.end() && found->second.back()->window >= window_for(wanted);
}

std::unique_ptr<PinnedWindows> WindowsByHost::make_missing(PlaceId host, WindowsMade wanted) const {
  if (are_at(host, wanted)) return nullptr;
  return std::make_unique<PinnedWindows>(driver_, host, window_for(wanted), count_);
}

void WindowsByHost::add(PlaceId host, std::unique_ptr<PinnedWindows> made) {
  const std::scoped_lock lock(mutex_);
  if (made) windows_[host].push_back(std::move(made));
}

PinnedWindows& WindowsByHost::at(PlaceId host) const {
  const std::scoped_lock lock(mutex_);
  PinnedWindows& windows = *windows_.at(host).back();
  if (!windows.lost) return windows;
  fail(ErrorCode::driver, "the pinned windows of a host are lost",
       "an earlier driver failure left work that cannot be waited for");
}

void WindowsByHost::lose_all() {
  const std::scoped_lock lock(mutex_);
  for (auto& [host, rings] : windows_)
    for (const auto& ring : rings) ring->lost = true;
}

}  // namespace polypath::engine
