// The bounded map: what it forgets, when, and whom it tells.

#include "plan/lru_cache.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "support/random.h"

namespace polypath::test::lru_cache_test {
namespace {

using Cache = LruCache<int, std::string>;
using Words = std::vector<std::string>;

/// A cache that keeps the values that went, in order.
struct Recorded {
  explicit Recorded(std::size_t capacity)
      : cache(capacity, [this](const std::string& value) { gone.push_back(value); }) {}

  Words gone;
  Cache cache;
};

TEST(LruCache, FindsWhatWasInserted) {
  Cache cache(2);

  cache.insert(1, "one");

  ASSERT_NE(cache.find(1), nullptr);
  EXPECT_EQ(*cache.find(1), "one");
  EXPECT_EQ(cache.find(2), nullptr);
}

TEST(LruCache, ForgetsTheOldestWhenFull) {
  Recorded recorded(2);

  recorded.cache.insert(1, "one");
  recorded.cache.insert(2, "two");
  recorded.cache.insert(3, "three");

  EXPECT_EQ(recorded.gone, (Words{"one"}));
  EXPECT_EQ(recorded.cache.find(1), nullptr);
  EXPECT_EQ(recorded.cache.size(), 2U);
  EXPECT_EQ(recorded.cache.evictions(), 1U);
}

TEST(LruCache, FindingMakesRecent) {
  Recorded recorded(2);
  recorded.cache.insert(1, "one");
  recorded.cache.insert(2, "two");

  recorded.cache.find(1);
  recorded.cache.insert(3, "three");

  EXPECT_EQ(recorded.gone, (Words{"two"}));
  EXPECT_NE(recorded.cache.find(1), nullptr);
}

TEST(LruCache, ReplacingTellsOfTheOldValueAndEvictsNobodyElse) {
  Recorded recorded(2);
  recorded.cache.insert(1, "one");
  recorded.cache.insert(2, "two");

  recorded.cache.insert(1, "uno");

  EXPECT_EQ(recorded.gone, (Words{"one"}));
  EXPECT_EQ(*recorded.cache.find(1), "uno");
  EXPECT_NE(recorded.cache.find(2), nullptr);
  EXPECT_EQ(recorded.cache.evictions(), 0U);
}

TEST(LruCache, ReplacingMakesRecent) {
  Recorded recorded(2);
  recorded.cache.insert(1, "one");
  recorded.cache.insert(2, "two");

  recorded.cache.insert(1, "uno");
  recorded.cache.insert(3, "three");

  EXPECT_EQ(recorded.gone, (Words{"one", "two"}));
}

TEST(LruCache, ErasingTellsOfTheValue) {
  Recorded recorded(2);
  recorded.cache.insert(1, "one");

  recorded.cache.erase(1);
  recorded.cache.erase(1);

  EXPECT_EQ(recorded.gone, (Words{"one"}));
  EXPECT_EQ(recorded.cache.size(), 0U);
  EXPECT_EQ(recorded.cache.evictions(), 0U);
}

TEST(LruCache, ClearingTellsOfAllTheOldestFirst) {
  Recorded recorded(3);
  recorded.cache.insert(1, "one");
  recorded.cache.insert(2, "two");
  recorded.cache.find(1);

  recorded.cache.clear();

  EXPECT_EQ(recorded.gone, (Words{"two", "one"}));
  EXPECT_EQ(recorded.cache.size(), 0U);
  EXPECT_EQ(recorded.cache.evictions(), 0U) << "no insert had to evict";
}

TEST(LruCache, InsertGivesTheValueThatIsKept) {
  Cache cache(2);

  cache.insert(1, "one") += "!";

  EXPECT_EQ(*cache.find(1), "one!");
}

/// The same by search: keys with their values, the most recent last.
class Simple {
 public:
  explicit Simple(std::size_t capacity) : capacity_(capacity) {}

  const int* find(int key) {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (entries_[i].first != key) continue;
      const auto entry = entries_[i];
      entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(i));
      entries_.push_back(entry);
      return &entries_.back().second;
    }
    return nullptr;
  }
  void erase(int key) {
    std::erase_if(entries_, [=](const auto& entry) { return entry.first == key; });
  }
  void insert(int key, int value) {
    erase(key);
    if (entries_.size() == capacity_) entries_.erase(entries_.begin());
    entries_.emplace_back(key, value);
  }

 private:
  std::size_t capacity_;
  std::vector<std::pair<int, int>> entries_;
};

TEST(LruCache, BehavesLikeASearchedList) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    test::Random random(seed);
    const std::size_t capacity = random.between(1, 6);
    LruCache<int, int> cache(capacity);
    Simple simple(capacity);

    for (int step = 0; step < 500; ++step) {
      const int key = random.integer(0, 9);
      if (random.chance(40)) cache.insert(key, step), simple.insert(key, step);
      if (random.chance(10)) cache.erase(key), simple.erase(key);
      const int other = random.integer(0, 9);
      const int* found = cache.find(other);
      const int* expected = simple.find(other);

      ASSERT_EQ(found == nullptr, expected == nullptr) << "step " << step;
      if (expected != nullptr) ASSERT_EQ(*found, *expected) << "step " << step;
    }
  }
}

}  // namespace
}  // namespace polypath::test::lru_cache_test
