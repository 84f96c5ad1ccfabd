#include "ways/preload/held_copies.h"

namespace polypath::preload {
namespace {

// With more streams than this those are forgotten that hold nothing any more.
constexpr std::size_t kManyStreams = 64;

}  // namespace

void HeldCopies::note(StreamHandle stream, PlaceId gpu) {
  Before before{std::make_unique<EventPool::Lease>(spare_), {}};
  before.event = before.events->on(gpu);
  driver_.record(before.event, stream);
  bool many = false;
  {
    const std::scoped_lock lock(mutex_);
    before.number = next_number_++;
    notes_[{stream, std::this_thread::get_id()}] = std::move(before);
    many = notes_.size() > kManyStreams;
  }
  if (many) (void)any();
}

bool HeldCopies::any() {
  bool found = false;
  for (const Asked& asked : noted()) {
    if (is_over(asked.event)) forget(asked);
    else found = true;
  }
  return found;
}

std::vector<HeldCopies::Asked> HeldCopies::noted() {
  const std::scoped_lock lock(mutex_);
  std::vector<Asked> all;
  for (const auto& [stream, before] : notes_) all.push_back({stream, before.event, before.number});
  return all;
}

// What cannot be asked any more has ended with its context.
bool HeldCopies::is_over(EventHandle event) {
  bool over = true;
  return !quietly([&] { over = driver_.is_done(event); }) || over;
}

// Unless it has been noted again meanwhile.
void HeldCopies::forget(const Asked& over) {
  const std::scoped_lock lock(mutex_);
  const auto found = notes_.find(over.stream);
  if (found != notes_.end() && found->second.number == over.number) notes_.erase(found);
}

}  // namespace polypath::preload
