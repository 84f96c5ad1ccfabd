#pragma once
// Figures of simulated machines for the acceptance tests: measured, printed, and compared by them.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "bench/measure.h"
#include "core/text.h"
#include "machine/load_machine.h"

namespace polypath::bench {

/// What is measured; empty paths: the automatic plan.
struct Question {
  std::string machine;
  std::string operation = "put";
  std::string source = "gpu0";
  std::string destination = "gpu1";
  std::vector<std::string> paths = {};
  std::optional<Executor> executor = std::nullopt;
  int window = 1;
};

/// Timing only; bytes are verified by the tests of the engine.
inline Result answer(const Question& question, Bytes bytes) {
  Request request;
  request.window = question.window;
  request.options.paths = question.paths;
  request.options.executor = question.executor;
  request.verify = false;
  const Machine machine = load_machine(question.machine);
  const auto [source, destination] = machine.find_ends(question.source, question.destination);
  const Operation operation = find_operation(machine, question.operation, source, destination);
  return measure(simulate(machine, request.settings), operation, request, bytes);
}

inline double speedup_of(const Result& result) { return result.native_seconds / result.seconds; }

/// Relative difference of the predicted from the simulated time.
inline double error_of(const Result& result) {
  return std::abs(result.predicted / result.seconds - 1);
}

/// "direct 68.1 %, gpu2 15.9 % in 6": what a plan does, for the reader of a test's output.
inline std::string describe(const Result& result) {
  std::string text = name_of(result.executor);
  if (!result.plan) return text;
  for (const PathDecision& decision : result.plan->decisions)
    if (decision.included)
      text +=
          fmt::format(", {} {:.1f} % in {}", decision.name, 100 * decision.share, decision.chunks);
  return text;
}

/// The result at the size, of those given, where the gain is largest. Prints each.
inline Result best_of(const Question& question, const std::vector<Bytes>& sizes) {
  std::vector<Result> results;
  for (const Bytes bytes : sizes) {
    results.push_back(answer(question, bytes));
    const Result& result = results.back();
    std::cout << fmt::format("{} {} {:>8}: {:.3f} x, predicted {:+.2f} % ({})\n", question.machine,
                             question.operation, describe_bytes(bytes), speedup_of(result),
                             100 * (result.predicted / result.seconds - 1), describe(result));
  }
  return *std::max_element(results.begin(), results.end(), [](const Result& a, const Result& b) {
    return speedup_of(a) < speedup_of(b);
  });
}

/// Powers of two from `first` to `last`.
inline std::vector<Bytes> powers_of_two(Bytes first, Bytes last) {
  std::vector<Bytes> sizes;
  for (Bytes bytes = first; bytes <= last; bytes = bytes * 2) sizes.push_back(bytes);
  return sizes;
}

}  // namespace polypath::bench
