#include "mpi/arena.h"

#include <bit>

namespace polypath::mpi {

void ArenaBlock::clear() {
  for (AnnouncedCalls& rank : ranks) {
    rank.number.store(0);
    rank.needed.store(0);
    rank.joined.store(AnnouncedCalls::Joined::not_yet);
  }
  for (ExchangedNumbers& rank : exchanged) rank.times.store(0);
  for (auto& turn : turns) turn.store(0);
  left.store(0);
}

// Pages of zeros are a layout in which nothing is taken and nothing announced.
Arena Arena::make() { return Arena(SharedPages::make(Bytes{sizeof(Layout)})); }

Arena Arena::open(const SharedPages::Name& name) { return Arena(SharedPages::open(name)); }

int Arena::take() {
  for (int word = 0; word < kWords; ++word) {
    std::atomic<std::uint64_t>& taken = layout().taken[static_cast<std::size_t>(word)];
    std::uint64_t seen = taken.load();
    while (seen != ~std::uint64_t{0}) {
      const int bit = std::countr_one(seen);
      if (taken.compare_exchange_weak(seen, seen | (std::uint64_t{1} << bit)))
        return word * 64 + bit;
    }
  }
  return -1;
}

ArenaBlock& Arena::block(int number) const {
  return layout().blocks[static_cast<std::size_t>(number)];
}

void Arena::leave(int number, int ranks) {
  ArenaBlock& freed = block(number);
  if (freed.left.fetch_add(1) + 1 < ranks) return;
  freed.clear();
  layout().taken[static_cast<std::size_t>(number / 64)].fetch_and(
      ~(std::uint64_t{1} << (number % 64)));
}

}  // namespace polypath::mpi
