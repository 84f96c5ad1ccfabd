// Predicted times of plans, one line per question: what a change of the planner does to plans.
//
//   plan_times single|joint [--seeds FIRST COUNT] [MACHINE...] > after.txt
//
// A machine is one of the zoo or a file; each seed stands for one synthetic machine.
// compare_plans.py shows two such outputs side by side. A line has the kind of question, the
// question, the predicted time, the time of the calling threads and the time of native copies, in
// microseconds. What planning took goes to the standard error stream.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <set>
#include <string>
#include <vector>

#include "core/text.h"
#include "machine/load_machine.h"
#include "plan/joint/joint.h"
#include "plan/joint/patterns.h"
#include "plan/single/planner.h"
#include "support/random.h"

namespace polypath::test {
namespace {

using test::Random;

constexpr std::size_t kMostPairs = 12;  // of one machine
const std::vector<Bytes> kSizes{1_MiB, 4_MiB, 16_MiB, 64_MiB, 256_MiB, 1_GiB};

struct Pair {
  PlaceId source;
  PlaceId destination;
};

void print(const std::string& kind, const std::string& question, Seconds predicted, Seconds calls,
           Seconds natively) {
  fmt::print("{}\t{}\t{:.4f}\t{:.3f}\t{:.4f}\n", kind, question, predicted.value * 1e6,
             calls.value * 1e6, natively.value * 1e6);
}

// All pairs of places with a hop, or so many of them, spread evenly.
std::vector<Pair> pairs_of(const Machine& machine, std::size_t most) {
  std::vector<Pair> all, some;
  for (const Hop& hop : machine.hops) all.push_back({hop.source, hop.destination});
  const std::size_t count = std::min(most, all.size());
  for (std::size_t i = 0; i < count; ++i) some.push_back(all[i * all.size() / count]);
  return some;
}

// Copies of the same size that run or are expected meanwhile.
ConcurrentTransfers others_of(const Machine& machine, const Pair& own, Bytes bytes,
                              Random& random) {
  std::set<ConcurrentTransfer> others;
  for (int i = random.integer(1, 2); i > 0; --i) {
    const Hop& hop = random.pick(machine.hops);
    const bool same = hop.source == own.source && hop.destination == own.destination;
    const bool in_flight = random.chance(50);
    if (!same)
      others.insert({.source = hop.source,
                     .destination = hop.destination,
                     .bytes = size_class(bytes),
                     .plan = nullptr,
                     .in_flight = in_flight,
                     .same_thread = random.chance(50)});
  }
  return {others.begin(), others.end()};
}

class SingleQuestions {
 public:
  explicit SingleQuestions(const Machine& machine) : machine_(machine), planner_(machine_, {}) {}

  void ask(std::size_t pairs, const std::vector<Bytes>& sizes) {
    for (const Pair& pair : pairs_of(machine_, pairs))
      for (const Bytes bytes : sizes) {
        ask("alone", pair, bytes, {}, {});
        PlanOptions both_ways;
        both_ways.both_ways = BothWays::by_processes;
        if (machine_.find_hop(pair.destination, pair.source))
          ask("both ways", pair, bytes, both_ways, {});
        ask("beside", pair, bytes, {}, others_of(machine_, pair, bytes, random_));
      }
  }

 private:
  void ask(const std::string& how, const Pair& pair, Bytes bytes, const PlanOptions& options,
           const ConcurrentTransfers& others) {
    const PlanPointer plan = planner_.plan(pair.source, pair.destination, bytes, options, others);
    std::string beside;
    for (const ConcurrentTransfer& other : others)
      beside += fmt::format(" {}>{}", name(other.source), name(other.destination));
    const Seconds calls =
        planner_.predictor().call_time(plan->shape, planner_.settings().staging_slots);
    print(how,
          fmt::format("{} {}>{} {}{}", machine_.name, name(pair.source), name(pair.destination),
                      describe_bytes(bytes), beside),
          plan->predicted, calls, plan->native_predicted);
  }

  [[nodiscard]] const std::string& name(PlaceId place) const { return machine_.place(place).name; }

  const Machine machine_;
  Planner planner_;
  Random random_{1};
};

class JointQuestions {
 public:
  explicit JointQuestions(const Machine& machine)
      : machine_(machine), planner_(machine_, {}), joint_(planner_) {}

  void ask_patterns(Bytes bytes) {
    const std::size_t gpus = machine_.places_of(PlaceKind::gpu).size();
    for (const std::string& name : pattern_names()) {
      if (gpus < 2) continue;
      const std::size_t asked = name == "alltoall" ? std::min<std::size_t>(gpus, 4) : gpus;
      ask(fmt::format("{} {}", name, describe_bytes(bytes)),
          pattern_of(machine_, name, bytes, asked), Issuers::one_thread);
      if (name == "ring" || name == "scatter")
        ask(fmt::format("{} {}", name, describe_bytes(bytes)),
            pattern_of(machine_, name, bytes, asked), Issuers::processes);
    }
  }

  void ask_random(int sets, Random& random) {
    for (int i = 0; i < sets; ++i) {
      std::vector<JointTransfer> transfers;
      for (int k = random.integer(2, 5); k > 0; --k) {
        const Hop& hop = random.pick(machine_.hops);
        transfers.push_back({hop.source, hop.destination, 1_MiB * (1ULL << random.between(2, 8))});
      }
      const bool one = random.chance(50);
      ask(fmt::format("random {}", i), transfers, one ? Issuers::one_thread : Issuers::processes);
    }
  }

 private:
  void ask(const std::string& set, const std::vector<JointTransfer>& transfers, Issuers issuers) {
    try {
      const JointPlanPointer plan = joint_.plan(transfers, {.issuers = issuers});
      print(issuers == Issuers::one_thread ? "one thread" : "processes",
            fmt::format("{} {}", machine_.name, set), plan->predicted, plan->calls,
            plan->native_predicted);
    } catch (const std::exception&) {  // two places that no hop joins
    }
  }

  const Machine machine_;
  Planner planner_;
  JointPlanner joint_;
};

void ask(bool joint, const Machine& machine, bool synthetic, std::uint64_t seed) {
  if (!joint) {
    SingleQuestions(machine).ask(synthetic ? 2 : kMostPairs,
                                 synthetic ? std::vector<Bytes>{4_MiB, 64_MiB} : kSizes);
    return;
  }
  JointQuestions questions(machine);
  if (!synthetic)
    for (const Bytes bytes : {8_MiB, 128_MiB}) questions.ask_patterns(bytes);
  Random random(seed);
  questions.ask_random(synthetic ? 1 : 4, random);
}

int run(const std::vector<std::string>& words) {
  const bool joint = !words.empty() && words.front() == "joint";
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i] != "--seeds") {
      ask(joint, load_machine(words[i]), false, 7);
      continue;
    }
    const int first = std::stoi(words.at(i + 1)), count = std::stoi(words.at(i + 2));
    for (int seed = first; seed < first + count; ++seed)
      ask(joint, load_machine(fmt::format("synthetic:{}", seed)), true,
          static_cast<std::uint64_t>(seed));
    i += 2;
  }
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  fmt::print(stderr, "planned in {:.1f} s\n", taken.count());
  return 0;
}

}  // namespace
}  // namespace polypath::test

int main(int count, char** words) {
  try {
    return polypath::test::run({words + 1, words + count});
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
