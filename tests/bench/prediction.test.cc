// Predicted against simulated time, above 4 MiB.

#include <gtest/gtest.h>

#include "bench/figures.h"
#include "support/effort.h"

namespace polypath::bench::prediction_test {
namespace {

struct Errors {
  double sum = 0;
  double largest = 0;
  int count = 0;
  std::string worst;

  void add(const Question& question, Bytes bytes) {
    const Result result = answer(question, bytes);
    const double error = error_of(result);
    sum += error, ++count;
    if (error <= largest) return;
    largest = error;
    worst = fmt::format("{} {} {}: {}", question.machine, question.operation, describe_bytes(bytes),
                        describe(result));
  }

  [[nodiscard]] double mean() const { return sum / count; }
  void print(const std::string& what) const {
    std::cout << fmt::format("{}: mean error {:.2f} %, largest {:.2f} % ({}), {} figures\n", what,
                             100 * mean(), 100 * largest, worst, count);
  }
};

std::vector<Bytes> sizes() {
  return test::short_or_long<std::vector<Bytes>>({8_MiB, 32_MiB, 128_MiB, 1_GiB},
                                                 powers_of_two(8_MiB, 1_GiB));
}

// A staged path of each kind that the machine has, all together.
std::vector<std::string> all_paths(const std::string& machine_name, const std::string& from,
                                   const std::string& to) {
  const Machine machine = load_machine(machine_name);
  std::vector<std::string> names;
  for (const Path& path : find_paths(machine, machine.find_place(from), machine.find_place(to)))
    names.push_back(name_of(machine, path));
  return names;
}

TEST(Prediction, OneWayIsWithinThreePerCentInTheMean) {
  for (const auto& [operation, from, to] :
       {std::tuple{"put", "gpu0", "gpu1"}, {"h2d", "host0", "gpu0"}, {"d2h", "gpu0", "host0"}}) {
    Errors errors;

    for (const std::string& machine : zoo_names())
      for (const Bytes bytes : sizes()) errors.add({machine, operation, from, to}, bytes);

    errors.print(operation);
    EXPECT_LT(errors.mean(), 0.03) << operation;
  }
}

TEST(Prediction, OneWayOverEveryPathIsWithinThreePerCentInTheMean) {
  for (const auto executor : {Executor::stream, Executor::graph}) {
    Errors errors;

    for (const std::string& machine : zoo_names())
      for (const Bytes bytes : sizes())
        errors.add({machine, "put", "gpu0", "gpu1", all_paths(machine, "gpu0", "gpu1"), executor},
                   bytes);

    errors.print("every path");
    EXPECT_LT(errors.mean(), 0.03);
  }
}

TEST(Prediction, BothWaysIsWithinFivePerCentInTheMean) {
  Errors automatic, forced;

  for (const std::string& machine : zoo_names())
    for (const Bytes bytes : sizes()) {
      automatic.add({machine, "bibw"}, bytes);
      forced.add({machine, "bibw", "gpu0", "gpu1", {"direct", "host"}}, bytes);
    }

  automatic.print("both ways");
  forced.print("both ways with the host path");
  EXPECT_LT(automatic.mean(), 0.05);
  EXPECT_LT(forced.mean(), 0.05);
}

}  // namespace
}  // namespace polypath::bench::prediction_test
