#include "driver/trace/open_transfers.h"

#include <algorithm>
#include <exception>
#include <set>

namespace polypath::trace {

void OpenTransfers::add(std::vector<TimedWork> taken) {
  for (TimedWork& timed : taken) {
    const std::uint64_t transfer = timed.work.label.transfer;
    const Key key = transfer != 0 ? Key{timed.group, transfer} : Key{-1, ++next_single_};
    transfers_[key].parts.push_back(std::move(timed));
  }
}

// In the order of issue, so that of two pieces in one stream the earlier one is read first; pieces
// behind an unfinished piece are unfinished, too.
void OpenTransfers::read_all() {
  std::vector<TimedWork*> all;
  for (auto& [key, transfer] : transfers_)
    for (TimedWork& timed : transfer.parts)
      if (!timed.over) all.push_back(&timed);
  std::stable_sort(all.begin(), all.end(), [](const TimedWork* a, const TimedWork* b) {
    return a->begun.at < b->begun.at;
  });
  std::set<StreamHandle> blocked;
  for (TimedWork* timed : all)
    if (!blocked.contains(timed->begun.stream) && !read(*timed))
      blocked.insert(timed->begun.stream);
}

// False while it is under way. A piece that cannot be read at all is over, and left out.
bool OpenTransfers::read(TimedWork& timed) {
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
  spare_.give_back(timed);
  inbox_.note_end();
  return timed.over = true;
}

void OpenTransfers::write_complete(bool all, const Write& write) {
  for (auto entry = transfers_.begin(); entry != transfers_.end();) {
    auto& [key, transfer] = *entry;
    const bool is_over = std::all_of(transfer.parts.begin(), transfer.parts.end(),
                                     [](const TimedWork& timed) { return timed.over; });
    const bool grows =
        transfer.parts.size() != std::exchange(transfer.looked_at, transfer.parts.size());
    if (!all && (!is_over || grows)) {
      ++entry;
      continue;
    }
    for (const TimedWork& timed : transfer.parts)
      if (!timed.over) spare_.give_back(timed);
    const auto lost = std::erase_if(transfer.parts, [](const TimedWork& timed) {
      return !timed.over || timed.work.started == Seconds::infinity();
    });
    left_out_ += lost;
    write(transfer.parts);
    entry = transfers_.erase(entry);
  }
}

}  // namespace polypath::trace
