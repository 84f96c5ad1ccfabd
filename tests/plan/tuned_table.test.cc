// Tables of searched splits: which entry serves, what survives a file, and what is said of a
// damaged one.

#include <gtest/gtest.h>

#include <fstream>

#include "core/error.h"
#include "machine/load_machine.h"
#include "plan/single/planner.h"
#include "plan/tuned.h"
#include "support/errors.h"
#include "support/random.h"

namespace polypath::test::tuned_table_test {
namespace {

using test::expect_error;

TunedEntry entry_of(Bytes bytes, Executor executor = Executor::stream) {
  return {"gpu0",         "gpu1", bytes, executor, {{"direct", 0.5}, {"gpu2", 0.5}},
          {{"gpu2", 12}}, 1.75,   1.5,   42};
}

TunedTable table_of(std::vector<TunedEntry> entries) { return {"beluga", std::move(entries)}; }

void expect_equal(const TunedEntry& a, const TunedEntry& b) {
  EXPECT_EQ(a.source, b.source);
  EXPECT_EQ(a.destination, b.destination);
  EXPECT_EQ(a.bytes, b.bytes);
  EXPECT_EQ(a.executor, b.executor);
  EXPECT_EQ(a.shares, b.shares);
  EXPECT_EQ(a.chunks, b.chunks);
  EXPECT_EQ(a.speedup, b.speedup);
  EXPECT_EQ(a.automatic_speedup, b.automatic_speedup);
  EXPECT_EQ(a.tried, b.tried);
}

Bytes found(const TunedTable& table, Bytes bytes) {
  const TunedEntry* entry = table.find("gpu0", "gpu1", bytes, Executor::stream);
  return entry == nullptr ? 0_B : entry->bytes;
}

TEST(TunedTable, FindsTheNearestSizeByRatio) {
  const TunedTable table = table_of({entry_of(4_MiB), entry_of(16_MiB), entry_of(8_MiB)});

  EXPECT_EQ(found(table, 4_MiB), 4_MiB);
  EXPECT_EQ(found(table, 5_MiB), 4_MiB);
  EXPECT_EQ(found(table, 7_MiB), 8_MiB);
  EXPECT_EQ(found(table, 11_MiB), 8_MiB);
  EXPECT_EQ(found(table, 12_MiB), 16_MiB);
}

TEST(TunedTable, ReachesAFactorTwoAndNoFurther) {
  const TunedTable table = table_of({entry_of(8_MiB)});

  EXPECT_EQ(found(table, 4_MiB), 8_MiB);
  EXPECT_EQ(found(table, 16_MiB), 8_MiB);
  EXPECT_EQ(found(table, 4_MiB - 512_B), 0_B);
  EXPECT_EQ(found(table, 16_MiB + 512_B), 0_B);
}

TEST(TunedTable, TellsPairsAndExecutorsApart) {
  const TunedTable table = table_of({entry_of(8_MiB)});

  EXPECT_EQ(table.find("gpu1", "gpu0", 8_MiB, Executor::stream), nullptr);
  EXPECT_EQ(table.find("gpu0", "gpu2", 8_MiB, Executor::stream), nullptr);
  EXPECT_EQ(table.find("gpu0", "gpu1", 8_MiB, Executor::graph), nullptr);
  EXPECT_EQ(TunedTable{}.find("gpu0", "gpu1", 8_MiB, Executor::stream), nullptr);
}

TEST(TunedFile, GivesBackWhatWasWritten) {
  const TunedTable table = table_of({entry_of(8_MiB), entry_of(64_MiB + 1_B, Executor::graph)});

  const TunedTable read = parse_tuned(tuned_to_json(table), "round trip");

  EXPECT_EQ(read.machine, table.machine);
  ASSERT_EQ(read.entries.size(), table.entries.size());
  for (std::size_t i = 0; i < read.entries.size(); ++i)
    expect_equal(read.entries[i], table.entries[i]);
}

TEST(TunedFile, MayBeEmpty) {
  EXPECT_TRUE(parse_tuned(tuned_to_json(table_of({})), "empty").entries.empty());
}

// The text of a sound file with `from` replaced by `to`.
std::string damaged(const std::string& from, const std::string& to) {
  std::string text = tuned_to_json(table_of({entry_of(8_MiB)}));
  const auto at = text.find(from);
  if (at == std::string::npos) ADD_FAILURE() << from << " is not in " << text;
  return text.replace(at, from.size(), to);
}

TEST(TunedFile, SaysWhatIsDamagedAndWhere) {
  struct Case {
    std::string from, to, cause;
  };
  const std::vector<Case> cases = {
      {"polypath.tuned/1", "polypath.tuned/2", "schema"},
      {"\"schema\"", "\"scheme\"", "'schema'"},
      {"\"machine\"", "\"device\"", "'machine'"},
      {"\"entries\"", "\"entry\"", "'entries'"},
      {"\"bytes\": 8388608", "\"bytes\": 0", "bytes"},
      {"\"bytes\": 8388608", "\"bytes\": -1", "bytes"},
      {"\"bytes\": 8388608", "\"bytes\": 1e300", "bytes"},
      {"\"bytes\": 8388608", "\"bytes\": \"8M\"", "bytes"},
      {"\"bytes\"", "\"size\"", "'bytes'"},
      {"\"shares\"", "\"parts\"", "'shares'"},
      {"\"direct\": 0.5", "\"direct\": 0.75", "shares"},
      {"\"direct\": 0.5", "\"direct\": -0.5", "shares"},
      {"\"direct\": 0.5", "\"direct\": \"half\"", "string"},
      {"\"gpu2\": 12", "\"gpu2\": 0", "chunk"},
      {"\"gpu2\": 12", "\"gpu2\": 1.5", "chunk"},
      {"\"gpu2\": 12", "\"gpu2\": 1e300", "chunk"},
      {"\"stream\"", "\"native\"", "'native'"},
      {"\"source\": \"gpu0\"", "\"source\": 0", "number"},
      {"{", "", "is not JSON"},
  };

  for (const Case& wrong : cases) {
    SCOPED_TRACE(wrong.to);
    expect_error(
        ErrorCode::invalid_setting,
        [&] { parse_tuned(damaged(wrong.from, wrong.to), "some.json"); }, "some.json", wrong.cause);
  }
}

// As other programs may write it.
TEST(TunedFile, NeedNotSayWhatTheSearchKnewBesides) {
  const std::string text = R"({"schema": "polypath.tuned/1", "machine": "beluga", "entries": [
      {"source": "gpu0", "destination": "gpu1", "bytes": 4096, "executor": "stream",
       "shares": {"direct": 1}, "chunks": {}, "speedup": 1}]})";

  const TunedTable read = parse_tuned(text, "some.json");

  ASSERT_EQ(read.entries.size(), 1U);
  EXPECT_EQ(read.entries[0].tried, 0);
}

TEST(TunedFile, PointsAtTheOffendingField) {
  expect_error(
      ErrorCode::invalid_setting,
      [&] { parse_tuned(damaged("\"gpu2\": 12", "\"gpu2\": 0"), "some.json"); },
      "tuned file 'some.json': /entries/0/chunks/gpu2 is 0 (a whole number from 1");
}

TEST(TunedFile, ThatIsNoTableIsRefused) {
  for (const std::string text : {"", "null", "[]", "3", "{}", "\xff", "{\"schema\": 1}"})
    expect_error(
        ErrorCode::invalid_setting, [&] { parse_tuned(text, "some.json"); }, "some.json");
}

// Some bytes changed, lost, doubled or made up.
std::string mutated(std::string text, test::Random& random) {
  for (int left = random.integer(1, 4); left > 0; --left) {
    const std::size_t at = random.index(text.size());
    switch (random.integer(0, 3)) {
      case 0: text[at] = static_cast<char>(random.between(0, 255)); break;
      case 1: text.erase(at, random.between(1, 20)); break;
      case 2: text.insert(at, text.substr(at, random.between(1, 20))); break;
      default: text.insert(at, 1, random.pick<char>({'-', '9', 'e', '"', '{', '[', ',', ':'}));
    }
    if (text.empty()) text = " ";
  }
  return text;
}

TEST(TunedFile, DamagedAtRandomIsReadOrRefused) {
  const std::string text = tuned_to_json(table_of({entry_of(8_MiB), entry_of(16_MiB)}));
  int refused = 0;

  for (std::uint64_t seed = 0; seed < 5000; ++seed) {
    test::Random random(seed);
    try {
      parse_tuned(mutated(text, random), "some.json");
    } catch (const Error& error) {
      const std::string message = error.what();
      EXPECT_EQ(error.code(), ErrorCode::invalid_setting) << "seed " << seed;
      EXPECT_NE(message.find("some.json"), std::string::npos) << "seed " << seed;
      ++refused;
    }
  }

  EXPECT_GT(refused, 0);
}

std::string written(const TunedTable& table) {
  const std::string path = testing::TempDir() + "polypath_tuned_" +
                           testing::UnitTest::GetInstance()->current_test_info()->name() + ".json";
  std::ofstream(path) << tuned_to_json(table);
  return path;
}

/// A planner on beluga whose settings name a file of `table`.
Planner planner_with(const Machine& machine, const TunedTable& table) {
  Settings settings;
  settings.tuned = written(table);
  return {machine, settings};
}

const PathDecision& decision(const Plan& plan, const std::string& name) {
  for (const PathDecision& decision : plan.decisions)
    if (decision.name == name) return decision;
  throw std::out_of_range(name);
}

PlanOptions with_streams() {
  PlanOptions options;
  options.executor = Executor::stream;
  return options;
}

TEST(TunedPlan, UsesTheSharesAndChunksOfTheTable) {
  const Machine machine = load_machine("beluga");
  Planner planner = planner_with(machine, table_of({entry_of(64_MiB)}));

  for (const Bytes bytes : {64_MiB, 100_MiB}) {
    const PlanPointer plan = planner.plan({0}, {1}, bytes, with_streams());

    EXPECT_NEAR(decision(*plan, "direct").share, 0.5, 1e-5);
    EXPECT_NEAR(decision(*plan, "gpu2").share, 0.5, 1e-5);
    EXPECT_EQ(decision(*plan, "gpu2").chunks, 12);
    EXPECT_FALSE(decision(*plan, "gpu3").included);
  }
}

TEST(TunedPlan, IsTheModelsWhereTheTableHasNothing) {
  const Machine machine = load_machine("beluga");
  Planner tuned = planner_with(machine, table_of({entry_of(64_MiB)}));
  Planner model(machine, {});

  const auto expect_same = [&](PlaceId source, PlaceId destination, Bytes bytes,
                               const PlanOptions& options) {
    EXPECT_EQ(tuned.plan(source, destination, bytes, options)->structure,
              model.plan(source, destination, bytes, options)->structure);
  };
  PlanOptions graph;
  graph.executor = Executor::graph;
  expect_same({0}, {1}, 256_MiB, with_streams());
  expect_same({1}, {0}, 64_MiB, with_streams());
  expect_same({0}, {1}, 64_MiB, graph);
}

TEST(TunedPlan, IsTheModelsOnAnotherMachine) {
  const Machine machine = load_machine("narval");
  Planner tuned = planner_with(machine, table_of({entry_of(64_MiB)}));
  Planner model(machine, {});

  EXPECT_EQ(tuned.plan({0}, {1}, 64_MiB, with_streams())->structure,
            model.plan({0}, {1}, 64_MiB, with_streams())->structure);
}

TEST(TunedPlan, YieldsToForcedShares) {
  const Machine machine = load_machine("beluga");
  Planner planner = planner_with(machine, table_of({entry_of(64_MiB)}));
  PlanOptions options = with_streams();
  options.shares = {{"direct", 0.75}, {"gpu3", 0.25}};

  const PlanPointer plan = planner.plan({0}, {1}, 64_MiB, options);

  EXPECT_NEAR(decision(*plan, "gpu3").share, 0.25, 1e-5);
  EXPECT_FALSE(decision(*plan, "gpu2").included);
}

TEST(TunedPlan, YieldsToTheModelInCompany) {
  const Machine machine = load_machine("beluga");
  Planner planner = planner_with(machine, table_of({entry_of(64_MiB)}));
  const ConcurrentTransfer on_the_relay{
      .source = {2}, .destination = {1}, .bytes = 64_MiB, .plan = nullptr};

  const PlanPointer plan = planner.plan({0}, {1}, 64_MiB, with_streams(), {on_the_relay});

  EXPECT_FALSE(decision(*plan, "gpu2").included);
}

TEST(TunedPlan, OfAFileThatIsNotThereIsRefusedAtOnce) {
  const Machine machine = load_machine("beluga");
  Settings settings;
  settings.tuned = testing::TempDir() + "no_such_file.json";

  expect_error(
      ErrorCode::invalid_setting, [&] { Planner(machine, settings); }, settings.tuned,
      "POLYPATH_TUNED");
}

TEST(TunedPlan, OfATableWithUnknownPathsIsRefusedAtOnce) {
  const Machine machine = load_machine("beluga");
  TunedEntry path = entry_of(8_MiB);
  path.shares = {{"direct", 0.5}, {"gpu7", 0.5}};
  TunedEntry place = entry_of(8_MiB);
  place.source = "gpu9";
  TunedEntry chunks = entry_of(8_MiB);
  chunks.chunks = {{"gpu6", 4}};

  expect_error(
      ErrorCode::invalid_setting, [&] { planner_with(machine, table_of({path})); },
      "POLYPATH_TUNED", "gpu7");
  expect_error(
      ErrorCode::invalid_setting, [&] { planner_with(machine, table_of({place})); },
      "POLYPATH_TUNED", "gpu9");
  expect_error(
      ErrorCode::invalid_setting, [&] { planner_with(machine, table_of({chunks})); },
      "POLYPATH_TUNED", "gpu6");
}

}  // namespace
}  // namespace polypath::test::tuned_table_test
