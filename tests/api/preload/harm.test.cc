// Programs that Polypath once did harm to, on the stand-in driver: whatever they see with Polypath,
// they would have seen without. The programs say what that is (programs/harm_*.cc); most need the
// chaotic driver, whose streams really run beside each other and can really be held.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>

#include "api/preload/program_run.h"

namespace polypath::preload::harm_test {
namespace {

// What is under the program.
enum class Driver { virtual_time, chaos };

struct Case {
  const char* program;
  const char* scenario;
  Driver driver;
  const char* words = "";      // the scenario's options
  const char* variables = "";  // of the stand-in: NAME=VALUE ...
  bool several_paths = true;   // some copies take them, so that there is something to see
};

std::string name_of(const Case& named) {
  const std::string_view variables = named.variables;
  return std::string(named.program) + "_" + named.scenario +
         (variables.find("EXECUTOR=graph") != variables.npos ? "_by_graphs" : "") +
         (named.driver == Driver::chaos ? "_in_chaos" : "");
}

void PrintTo(const Case& shown, std::ostream* out) { *out << name_of(shown); }

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

std::vector<std::string> command_of(const Case& of) {
  std::vector<std::string> command = words_of(of.words);
  command.insert(command.begin(), {std::string("harm_") + of.program, of.scenario});
  command.emplace_back("watchdog=120");  // milliseconds: chaos puts nothing off for more than five
  return command;
}

// On this machine several paths pay for copies that are small for the computer that runs the tests.
Variables variables_of(const Case& of) {
  Variables variables{{"STANDIN_MACHINE", "beluga"},
                      {"STANDIN_FABRIC", "1"},
                      {"POLYPATH_MIN_MESSAGE", "1M"},
                      {"POLYPATH_PAGEABLE_MIN", "1M"}};
  if (of.driver == Driver::chaos) variables["STANDIN_CHAOS"] = "1";
  for (const std::string& word : words_of(of.variables)) {
    const auto equals = word.find('=');
    variables[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return variables;
}

class Harm : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (standin_folder().empty()) GTEST_SKIP() << "the stand-in driver has not been built";
  }
};

TEST_P(Harm, IsNotDone) {
  const ProgramRun plain = run_plain(command_of(GetParam()), variables_of(GetParam()));
  if (plain.status == kCannotRunHere) GTEST_SKIP() << plain.output;
  ASSERT_EQ(plain.status, 0) << plain.output << plain.errors;

  Variables variables = variables_of(GetParam());
  const ProgramRun preloaded = run_program(command_of(GetParam()), variables);
  variables["POLYPATH_PREPARE"] = "background";
  variables["POLYPATH_PREPARE_AFTER"] = "0";
  const ProgramRun prepared_beside = run_program(command_of(GetParam()), variables);

  EXPECT_EQ(difference(plain, preloaded), "") << preloaded.errors;
  if (GetParam().several_paths) EXPECT_GT(preloaded.calls("accelerated"), 0U) << preloaded.errors;
  EXPECT_EQ(difference(plain, prepared_beside), "") << prepared_beside.errors;
}

constexpr Driver kVirtual = Driver::virtual_time, kChaos = Driver::chaos;
constexpr const char* kManyChunks =
    "STANDIN_QUEUE_DEPTH=1021 STANDIN_QUEUES=1 POLYPATH_MIN_CHUNK=128K POLYPATH_STAGING_SLOT=128K";

constexpr Case kCases[] = {
    {"captures", "after_waiting", kVirtual, "bytes=4M"},
    {"captures", "after_waiting", kChaos, "bytes=4M"},
    {"depth", "few_large_between", kChaos, "bytes=16M count=60", "STANDIN_QUEUE_DEPTH=1021"},
    {"depth", "few_large_in", kChaos, "bytes=16M count=60", "STANDIN_QUEUE_DEPTH=1021"},
    {"depth", "few_large_out", kChaos, "bytes=16M count=60", "STANDIN_QUEUE_DEPTH=1021"},
    {"depth", "many_chunks_between", kChaos, "bytes=64M", kManyChunks},
    {"depth", "many_chunks_in", kChaos, "bytes=64M", kManyChunks},
    {"depth", "many_chunks_out", kChaos, "bytes=64M", kManyChunks},
    {"depth", "many_small_between", kChaos, "bytes=4M count=900", "STANDIN_QUEUE_DEPTH=1021"},
    {"depth", "many_small_in", kChaos, "bytes=4M count=900", "STANDIN_QUEUE_DEPTH=1021"},
    {"depth", "many_small_out", kChaos, "bytes=4M count=900", "STANDIN_QUEUE_DEPTH=1021"},
    {"exclusive", "all_at_once", kChaos, "bytes=4M", "STANDIN_COMPUTE_MODE=exclusive", false},
    {"exclusive", "one_after_another", kChaos, "bytes=4M", "STANDIN_COMPUTE_MODE=exclusive", false},
    {"files", "closed_descriptors", kVirtual, "bytes=4M"},
    {"files", "full_shared_memory", kVirtual, "bytes=4M"},
    {"files", "shortened_files", kVirtual, "bytes=4M"},
    {"hold", "calls_elsewhere_by_function", kChaos, "bytes=4M"},
    {"hold", "calls_elsewhere_in", kChaos, "bytes=4M"},
    {"hold", "calls_elsewhere_out", kChaos, "bytes=4M"},
    {"hold", "calls_here", kChaos, "bytes=4M"},
    {"hold", "copies_by_function", kChaos, "bytes=4M"},
    {"hold", "copies_by_value", kChaos, "bytes=4M"},
    {"hold", "first_copies", kChaos, "bytes=4M", "", false},
    {"hold", "many_streams", kChaos, "bytes=4M", "", false},
    {"hold", "new_streams", kChaos, "bytes=4M"},
    {"hold", "pageable", kChaos, "bytes=4M", "", false},
    {"imports", "own_context", kVirtual, "bytes=16M"},
    {"imports", "primary_context", kVirtual, "bytes=16M"},
    {"frees", "host_memory_in", kChaos, "bytes=4M"},
    {"frees", "host_memory_out", kChaos, "bytes=4M"},
    {"frees", "device_memory_in", kChaos, "bytes=4M"},
    {"frees", "device_memory_out", kChaos, "bytes=4M"},
    {"frees", "device_memory_between", kChaos, "bytes=4M"},
    {"lifetime", "become_another", kVirtual, "bytes=4M"},
    {"lifetime", "exits_soon", kVirtual, "bytes=4M"},
    {"lifetime", "exits_soon", kChaos, "bytes=4M"},
    {"lifetime", "forks_while_copying", kVirtual, "bytes=4M"},
    {"lifetime", "just_copy", kChaos, "bytes=4M"},
    {"lifetime", "threads_come_and_go", kChaos, "bytes=4M"},
    {"loops", "first_copies", kChaos, "bytes=4M"},
    {"loops", "one_buffer", kVirtual, "bytes=4M"},
    {"loops", "one_buffer", kChaos, "bytes=4M window=16 rounds=2"},
    {"loops", "pieces", kChaos, "window=8"},
    {"loops", "state_dict", kVirtual},
    {"loops", "state_dict", kChaos},
    {"memory", "first_gpu_until_full", kVirtual, "bytes=4M"},
    {"memory", "relay_until_full", kVirtual, "bytes=4M"},
    {"memory", "second_gpu_until_full", kVirtual, "bytes=4M"},
    {"memory", "many_things", kVirtual, "bytes=4M"},
    {"memory", "free_again", kVirtual, "bytes=4M"},
    {"memory", "free_again", kChaos, "bytes=4M"},
    {"memory", "full_while_held", kChaos, "bytes=4M"},
    {"opened", "at_the_same_addresses", kVirtual, "bytes=4M"},
    {"opened", "at_the_same_addresses", kChaos, "bytes=4M"},
    {"opened", "between_gpus", kChaos, "bytes=4M"},
    {"opened", "one_memory_twice", kChaos, "bytes=4M"},
    {"opened", "pool_freed_at_once", kChaos, "bytes=4M"},
    {"opened", "pool_in_a_stream", kVirtual, "bytes=4M rounds=10"},
    {"opened", "pool_in_a_stream", kChaos, "bytes=4M rounds=10"},
    {"opened", "pool_of_two_streams", kVirtual, "bytes=4M rounds=10"},
    {"opened", "pool_of_two_streams", kChaos, "bytes=4M rounds=10"},
    {"opened", "several_mappings", kChaos, "bytes=4M"},
    {"opened", "sleep_in_pageable_memory", kChaos, "bytes=4M"},
    {"opened", "sleep_in_pinned_memory", kVirtual, "bytes=4M"},
    {"opened", "sleep_in_pinned_memory", kChaos, "bytes=4M"},
    {"opened", "sleep_in_pinned_memory", kChaos, "bytes=8M", "POLYPATH_EXECUTOR=graph"},
    {"opened", "to_ordinary_memory", kChaos, "bytes=4M"},
    {"order", "between", kChaos, "bytes=2M fills=4 fill=1M"},
    {"order", "between_held", kChaos, "bytes=1M", "", false},
    {"order", "copy_then_pageable_in", kChaos, "fill=4M fills=8"},
    {"order", "fills_then_pageable_out", kChaos, "fill=4M fills=8"},
    {"order", "pageable", kChaos, "bytes=1M fills=4 fill=1M"},
    {"order", "pageable_held", kChaos, "bytes=1M by=function", "", false},
    {"order", "pinned", kChaos, "bytes=1M fills=4 fill=1M"},
    {"order", "pinned_held", kChaos, "bytes=1M", "", false},
    {"peer", "copy_then_enable", kVirtual, "bytes=4M"},
    {"peer", "disable_and_enable", kVirtual, "bytes=4M"},
    {"peer", "enable_then_copy", kVirtual, "bytes=4M"},
    {"peer", "never_enabled", kVirtual, "bytes=4M"},
    {"peer", "own_contexts", kVirtual, "bytes=4M"},
    {"peer", "released_and_retained", kVirtual, "bytes=4M"},
    {"peer", "reset", kVirtual, "bytes=4M"},
    {"peer", "thread_per_gpu", kVirtual, "bytes=4M"},
    {"peer", "what_makes_no_sense", kVirtual, "bytes=4M"},
    {"peer", "while_others_copy", kVirtual, "bytes=4M"},
    {"registered", "a_file", kChaos, "bytes=4M"},
    {"registered", "a_part", kChaos, "bytes=4M"},
    {"registered", "again", kChaos, "bytes=4M"},
    {"signals", "bus_destination", kVirtual, "bytes=4M"},
    {"signals", "bus_source", kVirtual, "bytes=4M"},
    {"signals", "directed_signals", kVirtual, "bytes=4M"},
    {"signals", "one_processor", kVirtual, "bytes=4M"},
    {"signals", "segv_destination", kVirtual, "bytes=4M"},
    {"signals", "segv_source", kVirtual, "bytes=4M"},
};

// vllm#51513, pytorch#84803, open-gpu-kernel-modules#1257.
TEST(PeerAccess, ThroughWhichNoByteArrivesIsNotUsed) {
  if (standin_folder().empty()) GTEST_SKIP() << "the stand-in driver has not been built";
  const Case dropped{"peer", "never_enabled", kVirtual, "bytes=4M", "STANDIN_DROP_PEER_BYTES=1"};
  const ProgramRun plain = run_plain(command_of(dropped), variables_of(dropped));
  ASSERT_EQ(plain.status, 0) << plain.output << plain.errors;

  const ProgramRun preloaded = run_program(command_of(dropped), variables_of(dropped));

  EXPECT_EQ(difference(plain, preloaded), "") << preloaded.errors;
  EXPECT_THAT(preloaded.errors, testing::HasSubstr("cannot exchange bytes"));
}

// What was seen under a driver counts as long as it is the same, and for no other one of its
// version.
TEST(PeerAccess, IsTriedAnewUnderAnotherDriver) {
  if (standin_folder().empty()) GTEST_SKIP() << "the stand-in driver has not been built";
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("polypath-drivers-{}", getpid());
  std::filesystem::create_directories(folder / "cache");
  std::filesystem::copy(standin_folder(), folder / "other");
  const auto run_with = [&](const std::string& driver, const char* drops) {
    const Case each{"peer", "never_enabled", kVirtual, "bytes=4M"};
    Variables variables{{"LD_LIBRARY_PATH", driver},
                        {"XDG_CACHE_HOME", folder / "cache"},
                        {"STANDIN_DROP_PEER_BYTES", drops}};
    variables.merge(variables_of(each));
    return run_program(command_of(each), variables);
  };

  const ProgramRun before = run_with(standin_folder(), "0");
  const ProgramRun after = run_with(folder / "other", "1");
  const ProgramRun known = run_with(folder / "other", "0");

  EXPECT_EQ(before.errors.find("cannot exchange bytes"), std::string::npos) << before.errors;
  EXPECT_GT(before.calls("accelerated"), 0U) << before.errors;
  EXPECT_EQ(difference(before, after), "") << after.errors;
  EXPECT_THAT(after.errors, testing::HasSubstr("cannot exchange bytes"));
  EXPECT_LT(known.calls("accelerated"), before.calls("accelerated")) << known.errors;
  std::filesystem::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(OverTheStandIn, Harm, testing::ValuesIn(kCases),
                         [](const auto& of) { return name_of(of.param); });

}  // namespace
}  // namespace polypath::preload::harm_test
