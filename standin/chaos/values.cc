#include "standin/chaos/values.h"

namespace polypath::standin::chaos {
namespace {

// The program and other processes use the same memory meanwhile.
template <class Word>
Word load(const std::byte* bytes) {
  return __atomic_load_n(reinterpret_cast<const Word*>(bytes), __ATOMIC_ACQUIRE);
}

template <class Word>
void store(std::byte* bytes, std::uint64_t value) {
  __atomic_store_n(reinterpret_cast<Word*>(bytes), static_cast<Word>(value), __ATOMIC_RELEASE);
}

template <class Word, class Signed>
bool holds(Word found, Word wanted, Comparison comparison) {
  switch (comparison) {
    case Comparison::at_least: return static_cast<Signed>(found - wanted) >= 0;
    case Comparison::equal: return found == wanted;
    case Comparison::common_bits: return (found & wanted) != 0;
    case Comparison::missing_bits: return static_cast<Word>(~(found | wanted)) != 0;
  }
  return false;
}

}  // namespace

JobState WaitForValue::step(Chance&) {
  const bool there = value_.bytes.value == sizeof(std::uint32_t)
                         ? holds<std::uint32_t, std::int32_t>(
                               load<std::uint32_t>(where_.bytes),
                               static_cast<std::uint32_t>(value_.value), value_.comparison)
                         : holds<std::uint64_t, std::int64_t>(load<std::uint64_t>(where_.bytes),
                                                              value_.value, value_.comparison);
  return there ? JobState::done : JobState::not_yet;
}

JobState WriteValue::step(Chance&) {
  if (value_.bytes.value == sizeof(std::uint32_t)) store<std::uint32_t>(where_.bytes, value_.value);
  else store<std::uint64_t>(where_.bytes, value_.value);
  return JobState::done;
}

JobState Steps::step(Chance& chance) {
  const JobState state = jobs_[next_]->step(chance);
  if (state != JobState::done) return state;
  return ++next_ == jobs_.size() ? JobState::done : JobState::more;
}

}  // namespace polypath::standin::chaos
