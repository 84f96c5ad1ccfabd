#include "collective/rank/imported_allocations.h"

#include <algorithm>

#include "collective/rank/own_allocations.h"
#include "core/ignore_errors.h"

namespace polypath::collective {

ImportedAllocations::~ImportedAllocations() {
  for (const auto& [source, import] : imported_)
    ignore_errors([&] { driver_.release_import(import.address); });
}

// Memory that was taken back before it was imported never is.
void ImportedAllocations::hear_news() {
  for (HandleBoard::Update& news : handles_.poll()) {
    std::erase_if(news_, [&](const HandleBoard::Update& before) {
      return before.from == news.from && before.number == news.number;
    });
    (news.bytes.empty() ? gone_ : news_).push_back(std::move(news));
  }
}

void ImportedAllocations::import_new() {
  for (const HandleBoard::Update& news : std::exchange(news_, {})) take(news);
}

void ImportedAllocations::take(const HandleBoard::Update& news) {
  const ExportedMemory exported(
      reinterpret_cast<const std::byte*>(news.bytes.data()),
      reinterpret_cast<const std::byte*>(news.bytes.data()) + news.bytes.size());
  const Source source{news.from, news.number};
  const bool is_taken = ignore_errors([&] {
    const Address address = driver_.import_memory(exported, gpu_);
    imported_[source] = {.address = address, .may_wait = driver_.release_may_wait(address)};
  });
  if (!is_taken) imported_.erase(source);
  handles_.acknowledge(news, is_taken);
}

void ImportedAllocations::release_gone() {
  std::erase_if(gone_, [&](const HandleBoard::Update& news) {
    const bool may = may_release(news);
    if (may) release(news);
    return may;
  });
}

bool ImportedAllocations::may_release(const HandleBoard::Update& news) const {
  const auto found = imported_.find({news.from, news.number});
  if (found == imported_.end()) return true;
  const Import& import = found->second;
  return import.may_wait || !import.is_unused ? is_idle() : import.is_unused();
}

void ImportedAllocations::release(const HandleBoard::Update& news) {
  const auto found = imported_.find({news.from, news.number});
  if (found != imported_.end()) {
    ignore_errors([&] { driver_.release_import(found->second.address); });
    imported_.erase(found);
  }
  handles_.acknowledge(news, true);
}

std::optional<Address> ImportedAllocations::find(int rank, std::uint64_t word) {
  const Source source{rank, notice_of(word)};
  const auto found = imported_.find(source);
  if (found == imported_.end()) return std::nullopt;
  found_.push_back(source);
  return found->second.address + offset_of(word);
}

void ImportedAllocations::note_use(std::function<bool()> is_idle,
                                   const std::function<bool()>& is_done) {
  is_idle_ = std::move(is_idle);
  for (const Source& source : std::exchange(found_, {}))
    if (const auto found = imported_.find(source); found != imported_.end())
      found->second.is_unused = is_done;
}

}  // namespace polypath::collective
