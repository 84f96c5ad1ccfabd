#pragma once
// All orders in which a few ends of a protocol can take their steps: a small model checker.
//
// An end is a function, of the very code that the product runs, that calls step() before each of
// its accesses to what the ends share. Ends take turns on one thread, a step at a time. Every run
// begins anew; runs differ in who goes next and in what choose() answers, and all of them are gone
// through, depth first. Two runs that come to the same state go on alike, so that only the first
// one does: what is shared is the same, and each end has seen the same in its steps.
//
// Steps come one after another, as sequential consistency has them. What weaker orders of memory
// allow besides is not gone through.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "support/layers.h"

namespace polypath::test {

/// One run, to be made anew for each order.
struct Interleaved {
  std::vector<std::function<void()>> ends;
  /// What is wrong once all ends have returned; empty if nothing is.
  std::function<std::string()> wrong;
  /// Where the SteppedWords are: a word is known by its place there.
  const void* memory = nullptr;
  /// Stands for what is shared, where that is not in words of SteppedWord.
  std::function<std::uint64_t()> shared = {};
};

/// What going through all orders has found.
struct Interleavings {
  std::string wrong;       ///< in the first run that is, with its order; empty if none is
  std::size_t states = 0;  ///< that differ
  std::size_t runs = 0;    ///< begun; those that come to what is known are not gone on with
};

/// At most so many states: more is an error, for then not all has been gone through.
Interleavings go_through_all_orders(const std::function<Interleaved()>& make,
                                    std::size_t most_states = 200'000);

// What an end calls, within a run.

/// Before an access: others may go first.
void step();
/// What the end has found out by its last step, and what it does next depends on.
void note_seen(std::uint64_t value);
/// Of all that the end has seen so far, what it does next depends on that alone. Fewer states
/// differ then.
void forget_all_but(std::uint64_t value);
/// Goes on once that is so. It is asked after others' steps.
void await(const std::function<bool()>& is_so);
/// Any of 0 … count − 1.
std::size_t choose(std::size_t count);
/// A loop begins that looks again and again.
void begin_to_look();
/// In such a loop, which goes on as it has begun: once somebody has changed a SteppedWord since it
/// went on the last time, or if nobody else can go on: then time passes.
void let_others_go_on();
/// True if the end went on the last time because nobody else could.
bool has_waited_for_nobody();
/// A SteppedWord has got another value.
void note_change(const void* word, std::uint64_t before, std::uint64_t after);

/// A word that ends share, in the place of std::atomic: each use is a step.
template <class Value>
class SteppedWord {
 public:
  Value load(std::memory_order = {}) const {
    step();
    return seen();
  }
  void store(Value value, std::memory_order = {}) {
    step();
    change(value);
  }
  Value fetch_add(Value more, std::memory_order = {}) {
    step();
    const Value before = seen();
    change(static_cast<Value>(before + more));
    return before;
  }
  bool compare_exchange_strong(Value& expected, Value wanted, std::memory_order = {}) {
    step();
    const Value before = seen();
    const bool is_expected = before == expected;
    if (is_expected) change(wanted);
    expected = before;
    return is_expected;
  }
  bool compare_exchange_weak(Value& expected, Value wanted, std::memory_order = {}) {
    return compare_exchange_strong(expected, wanted);
  }

 private:
  Value seen() const {
    note_seen(static_cast<std::uint64_t>(value_));
    return value_;
  }
  void change(Value value) {
    note_change(this, static_cast<std::uint64_t>(value_), static_cast<std::uint64_t>(value));
    value_ = value;
  }

  Value value_;
};

}  // namespace polypath::test
