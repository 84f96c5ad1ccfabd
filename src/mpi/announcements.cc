#include "mpi/announcements.h"

namespace polypath::mpi {
namespace {

constexpr std::uint64_t kRemembered = AnnouncedCalls::kRemembered;
constexpr std::uint64_t kChecked = 64;  // calls between looks at the slowest rank

// A turn with the lap of the calls in whose place it is.
constexpr int kTurnBits = 40;
constexpr std::uint64_t kTurn = (std::uint64_t{1} << kTurnBits) - 1;
constexpr std::uint64_t in_lap_of(std::uint64_t call, std::uint64_t turn) {
  return (call / kRemembered + 1) << kTurnBits | (turn & kTurn);
}
constexpr bool is_of(std::uint64_t call, std::uint64_t turn) {
  return (turn & ~kTurn) == in_lap_of(call, 0);
}

}  // namespace

void Announcements::make_room(const std::function<void()>& wait) const {
  if (next_ % kChecked == 0)
    while (next_ + kChecked > slowest() + kRemembered) wait();
}

std::uint64_t Announcements::announce(Buffers buffers) {
  const std::scoped_lock lock(mutex_);
  const std::uint64_t call = next_++;
  if (is_asked(buffers)) undecided_.push_back(call), ++to_decide_;
  tell(call, buffers);
  note_needed();
  return call;
}

// While nothing is to be decided no other thread is here.
bool Announcements::announce_host() {
  if (next_ % kChecked == 0 || to_decide_ != 0) return false;
  tell(next_, Buffers::host);
  of(rank_).needed.store(++next_, std::memory_order_release);
  return true;
}

void Announcements::tell(std::uint64_t call, Buffers buffers) {
  AnnouncedCalls& own = of(rank_);
  own.buffers[call % kRemembered].store(static_cast<std::uint8_t>(buffers),
                                        std::memory_order_relaxed);
  own.number.store(call + 1, std::memory_order_release);
}

// What this rank has still to hear is not written over.
void Announcements::note_needed() {
  of(rank_).needed.store(undecided_.empty() ? next_ : undecided_.front(),
                         std::memory_order_release);
}

void Announcements::note_decided(std::uint64_t call) {
  const std::scoped_lock lock(mutex_);
  std::erase(undecided_, call);
  note_needed();
  to_decide_ = undecided_.size();
}

std::uint64_t Announcements::slowest() const {
  std::uint64_t least = next_;
  for (int rank = 0; rank < size_; ++rank)
    least = std::min(least, of(rank).needed.load(std::memory_order_acquire));
  return least;
}

std::optional<bool> Announcements::is_ours_at_all(std::uint64_t call) const {
  bool any = false;
  for (int rank = 0; rank < size_; ++rank) {
    if (of(rank).number.load(std::memory_order_acquire) <= call) return std::nullopt;
    switch (announced(rank, call)) {
      case Buffers::host:
      case Buffers::device: return false;
      case Buffers::ours: any = true; break;
      case Buffers::none: break;
    }
  }
  return any;
}

std::uint64_t Announcements::turn_of(std::uint64_t call) {
  std::atomic<std::uint64_t>& place = block_->turns[call % kRemembered];
  std::uint64_t seen = place.load();
  if (!is_of(call, seen)) {
    const std::uint64_t made = in_lap_of(call, arena_.next_turn());
    if (place.compare_exchange_strong(seen, made)) seen = made;
  }
  return seen & kTurn;
}

void Announcements::note_joined(bool can) {
  of(rank_).joined.store(can ? AnnouncedCalls::Joined::joined : AnnouncedCalls::Joined::failed,
                         std::memory_order_release);
}

std::optional<bool> Announcements::have_joined() const {
  bool all = true;
  for (int rank = 0; rank < size_; ++rank) {
    const auto joined = of(rank).joined.load(std::memory_order_acquire);
    if (joined == AnnouncedCalls::Joined::not_yet) return std::nullopt;
    all = all && joined == AnnouncedCalls::Joined::joined;
  }
  return all;
}

bool Announcements::has_one_failed() const {
  for (int rank = 0; rank < size_; ++rank)
    if (of(rank).joined.load(std::memory_order_acquire) == AnnouncedCalls::Joined::failed)
      return true;
  return false;
}

// A rank that writes again has heard all others the last time, when they were done with the time
// before.
std::vector<Count> Announcements::exchange(const std::vector<Count>& mine,
                                           const std::function<void()>& wait) {
  const auto exchanged = [this](int rank) -> ExchangedNumbers& {
    return block_->exchanged[static_cast<std::size_t>(rank)];
  };
  const std::size_t half = exchanges_++ % 2;
  std::copy(mine.begin(), mine.end(), exchanged(rank_).numbers[half].begin());
  exchanged(rank_).times.store(exchanges_, std::memory_order_release);
  std::vector<Count> all;
  for (int rank = 0; rank < size_; ++rank) {
    while (exchanged(rank).times.load(std::memory_order_acquire) < exchanges_) wait();
    const auto& said = exchanged(rank).numbers[half];
    all.insert(all.end(), said.begin(), said.begin() + static_cast<std::ptrdiff_t>(mine.size()));
  }
  return all;
}

}  // namespace polypath::mpi
