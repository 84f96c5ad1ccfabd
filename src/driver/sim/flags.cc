#include "driver/sim/flags.h"

#include <algorithm>

namespace polypath::sim {

void Flags::note_seen(Word& word, FlagWait& wait) {
  wait.seen = word.writer;
  word.seen.push_back(wait.self);
}

bool Flags::reach(const std::byte* where, Contents now, const std::shared_ptr<FlagWait>& wait,
                  const ActivityPointer& activity) {
  Word& word = words_[where];
  if (now && *now != word.value) word = {*now, nullptr, {}, std::move(word.waiters)};
  if (word.value == wait->value) {
    note_seen(word, *wait);
    return true;
  }
  word.waiters.push_back({wait, activity});
  return false;
}

// At the time of a write all that its writer comes after is known; the writer does not come after
// anything else.
std::string Flags::race_of(const Word& word, const Moment& writer) {
  const auto follows = [&](const MomentPointer& earlier) {
    return !earlier || (earlier->known && writer.clock[earlier->thread] >= earlier->stamp);
  };
  if (!follows(word.writer)) return "race: two writes of one flag, and nothing orders them";
  if (!std::all_of(word.seen.begin(), word.seen.end(), follows))
    return "race: a flag is written while somebody waits for what it had, and nothing orders them";
  return {};
}

std::vector<ActivityPointer> Flags::written(const std::byte* where, std::uint32_t value,
                                            const MomentPointer& writer, std::string& race) {
  Word& word = words_[where];
  race = race_of(word, *writer);
  word.value = value;
  word.writer = writer;
  word.seen.clear();
  std::vector<ActivityPointer> going;
  std::erase_if(word.waiters, [&](const Waiter& waiter) {
    if (waiter.wait->value != value) return false;
    note_seen(word, *waiter.wait);
    going.push_back(waiter.activity);
    return true;
  });
  return going;
}

std::uint32_t Flags::last_written(const std::byte* where) const {
  const auto found = words_.find(where);
  return found == words_.end() ? 0 : found->second.value;
}

std::vector<ActivityPointer> Flags::abandon(const std::byte* where) {
  std::vector<ActivityPointer> going;
  const auto found = words_.find(where);
  if (found == words_.end()) return going;
  for (const Waiter& waiter : found->second.waiters) going.push_back(waiter.activity);
  found->second.waiters.clear();
  return going;
}

bool Flags::are_awaited() const {
  return std::any_of(words_.begin(), words_.end(),
                     [](const auto& word) { return !word.second.waiters.empty(); });
}

}  // namespace polypath::sim
