#include "support/interleavings.h"

#include <fmt/format.h>
#include <ucontext.h>

#include <memory>
#include <stdexcept>
#include <unordered_set>

#include "support/layers.h"

namespace polypath::test {
namespace {

// splitmix64's mixing of one number (Steele, Lea, Flood 2014).
std::uint64_t mixed(std::uint64_t z) {
  z += 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

/// Thrown within ends whose run is not gone on with.
struct Abandoned {};

/// A function with a stack of its own, which is left and entered again.
class Fiber {
 public:
  explicit Fiber(std::function<void()> work) : work_(std::move(work)), stack_(take_stack()) {
    getcontext(&own_);
    own_.uc_stack.ss_sp = stack_.get();
    own_.uc_stack.ss_size = kStack;
    own_.uc_link = &caller_;
    makecontext(&own_, &Fiber::begin, 0);
  }
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  ~Fiber() { unused.push_back(std::move(stack_)); }

  void go_on() {
    entered = this;
    swapcontext(&caller_, &own_);
  }
  void leave() { swapcontext(&own_, &caller_); }
  [[nodiscard]] bool is_over() const { return over_; }
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  static constexpr std::size_t kStack = 64 << 10;
  using Stack = std::unique_ptr<char[]>;

  static Stack take_stack() {
    if (unused.empty()) return std::make_unique_for_overwrite<char[]>(kStack);
    Stack stack = std::move(unused.back());
    unused.pop_back();
    return stack;
  }

  static void begin() {
    Fiber* const self = entered;
    try {
      self->work_();
    } catch (const Abandoned&) {
    } catch (const std::exception& error) {
      self->error_ = error.what();
    }
    self->over_ = true;
  }

  static inline Fiber* entered = nullptr;  ///< last
  static inline std::vector<Stack> unused;

  std::function<void()> work_;
  Stack stack_;
  ucontext_t own_{}, caller_{};
  std::string error_;
  bool over_ = false;
};

constexpr std::uint64_t kInNoLoop = ~std::uint64_t{0};

struct End {
  std::unique_ptr<Fiber> fiber;
  std::uint64_t history = 0;      ///< of all that it has seen
  std::uint64_t before_loop = 0;  ///< the same when it began to look again and again
  std::function<bool()> awaited = {};
  std::size_t choices = 1;                 ///< of its next step
  std::size_t chosen = 0;                  ///< of them
  std::uint64_t changes_seen = kInNoLoop;  ///< when it last went on in a loop
  bool waits_for_change = false;
  bool for_nobody = false;

  void note(std::uint64_t value) { history = mixed(history ^ value); }
};

/// What happens next: the end, and what it is answered.
struct Option {
  std::size_t end;
  std::size_t answer;
};

class Run {
 public:
  static constexpr std::size_t kMostSteps = 10'000;

  explicit Run(Interleaved interleaved) : interleaved_(std::move(interleaved)) {
    for (const auto& work : interleaved_.ends)
      ends_.push_back({.fiber = std::make_unique<Fiber>(work)});
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  // Ends that have not returned give back what they hold.
  ~Run() {
    abandoned_ = true;
    for (std::size_t i = 0; i < ends_.size(); ++i)
      while (!ends_[i].fiber->is_over()) enter(i);
  }

  /// Empty if no end can go on.
  [[nodiscard]] std::vector<Option> options() {
    std::vector<Option> all = enabled();
    if (all.empty()) {
      for (End& end : ends_)
        if (end.waits_for_change && !end.for_nobody)
          end.waits_for_change = false, end.for_nobody = true;
      all = enabled();
    }
    return all;
  }
  void take(const Option& option) {
    if (order_.size() == kMostSteps) throw std::runtime_error("a run has no end");
    order_ += static_cast<char>('0' + option.end);
    End& end = ends_[option.end];
    end.chosen = option.answer;
    end.note(option.answer);
    end.awaited = {};
    enter(option.end);
  }
  [[nodiscard]] std::uint64_t state() const {
    std::uint64_t state = mixed(words_ ^ (interleaved_.shared ? interleaved_.shared() : 0));
    for (const End& end : ends_)
      state = mixed(state ^ end.history) + (end.for_nobody ? 1 : 0) +
              (end.changes_seen == changes_ ? 2 : 0);
    return state;
  }
  [[nodiscard]] std::string wrong() const {
    std::string why;
    for (std::size_t i = 0; i < ends_.size(); ++i) {
      const Fiber& fiber = *ends_[i].fiber;
      if (!fiber.is_over()) why += fmt::format("end {} never goes on; ", i);
      else if (!fiber.error().empty()) why += fmt::format("end {}: {}; ", i, fiber.error());
    }
    if (why.empty()) why = interleaved_.wrong();
    return why.empty() ? why : fmt::format("{} (ends in the order {})", why, order_);
  }

  // Within an end.
  void step() {
    End& end = ends_[current_];
    end.choices = 1;
    leave();
  }
  std::size_t choose(std::size_t count) {
    End& end = ends_[current_];
    end.choices = count;
    leave();
    return end.chosen;
  }
  void await(const std::function<bool()>& is_so) {
    ends_[current_].awaited = is_so;
    step();
  }
  void let_others_go_on() {
    End& end = ends_[current_];
    end.waits_for_change = end.changes_seen == changes_;
    end.for_nobody = false;
    step();
    end.waits_for_change = false;
    end.changes_seen = changes_;
    end.history = end.before_loop;
  }
  void begin_to_look() {
    End& end = ends_[current_];
    end.before_loop = end.history;
    end.changes_seen = changes_;
    end.for_nobody = false;
  }
  void forget_all_but(std::uint64_t value) {
    ends_[current_].history = mixed(value);
    ends_[current_].changes_seen = kInNoLoop;
  }
  [[nodiscard]] bool has_waited_for_nobody() const { return ends_[current_].for_nobody; }
  void note_seen(std::uint64_t value) {
    if (inside_) ends_[current_].note(value);
  }
  void note_change(const void* at, std::uint64_t before, std::uint64_t after) {
    const auto word = static_cast<std::uint64_t>(static_cast<const char*>(at) -
                                                 static_cast<const char*>(interleaved_.memory));
    words_ ^= mixed(word + mixed(before)) ^ mixed(word + mixed(after));
    if (before != after) ++changes_;
  }

 private:
  [[nodiscard]] std::vector<Option> enabled() const {
    std::vector<Option> all;
    for (std::size_t i = 0; i < ends_.size(); ++i) {
      const End& end = ends_[i];
      if (end.fiber->is_over() || (end.awaited && !end.awaited())) continue;
      if (end.waits_for_change && end.changes_seen == changes_) continue;
      for (std::size_t answer = 0; answer < end.choices; ++answer) all.push_back({i, answer});
    }
    return all;
  }
  void enter(std::size_t number) {
    current_ = number;
    inside_ = true;
    ends_[number].fiber->go_on();
    inside_ = false;
  }
  // Whoever looks at what is shared after the run does not take turns.
  void leave() {
    if (!inside_) return;
    ends_[current_].fiber->leave();
    if (abandoned_) throw Abandoned();
  }

  Interleaved interleaved_;
  std::vector<End> ends_;
  std::size_t current_ = 0;    ///< the end that is, or was last, at work
  bool inside_ = false;        ///< it is
  std::uint64_t words_ = 0;    ///< stands for the values of all words
  std::uint64_t changes_ = 0;  ///< of them, counted
  bool abandoned_ = false;
  std::string order_;
};

Run* current_run = nullptr;

/// One of the options that there were somewhere.
struct Branch {
  std::size_t taken;
  std::size_t options;
};

class Search {
 public:
  Search(const std::function<Interleaved()>& make, std::size_t most_states)
      : make_(make), most_states_(most_states) {}

  Interleavings go_through() {
    do {
      ++found_.runs;
      found_.wrong = one_run();
    } while (found_.wrong.empty() && go_elsewhere());
    found_.states = known_.size();
    return found_;
  }

 private:
  // Along the branches, and from their end on by the first options, to what is known or the end.
  std::string one_run() {
    Run run(make_());
    current_run = &run;
    for (std::size_t depth = 0;; ++depth) {
      const std::vector<Option> options = run.options();
      if (options.empty()) return run.wrong();
      if (depth == branches_.size()) {
        if (!known_.insert(run.state()).second) return {};
        if (known_.size() > most_states_)
          throw std::runtime_error(fmt::format("there are more than {} states", most_states_));
        branches_.push_back({0, options.size()});
      }
      run.take(options.at(branches_[depth].taken));
    }
  }
  bool go_elsewhere() {
    while (!branches_.empty() && branches_.back().taken + 1 == branches_.back().options)
      branches_.pop_back();
    if (branches_.empty()) return false;
    ++branches_.back().taken;
    return true;
  }

  const std::function<Interleaved()>& make_;
  std::size_t most_states_;
  std::vector<Branch> branches_;
  std::unordered_set<std::uint64_t> known_;
  Interleavings found_;
};

}  // namespace

Interleavings go_through_all_orders(const std::function<Interleaved()>& make,
                                    std::size_t most_states) {
  return Search(make, most_states).go_through();
}

void step() { current_run->step(); }
void note_seen(std::uint64_t value) { current_run->note_seen(value); }
void await(const std::function<bool()>& is_so) { current_run->await(is_so); }
std::size_t choose(std::size_t count) { return current_run->choose(count); }
void forget_all_but(std::uint64_t value) { current_run->forget_all_but(value); }
void begin_to_look() { current_run->begin_to_look(); }
void let_others_go_on() { current_run->let_others_go_on(); }
bool has_waited_for_nobody() { return current_run->has_waited_for_nobody(); }
void note_change(const void* word, std::uint64_t before, std::uint64_t after) {
  current_run->note_change(word, before, after);
}

}  // namespace polypath::test
