// A program under POLYPATH_TRACE does what it does without, and leaves a file of all that its
// copies did.

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "api/preload/programs_over_standin.h"
#include "core/files.h"

namespace polypath::preload::traces_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::size_t kMost = std::size_t{64} << 20;

class Traces : public Programs {
 protected:
  ~Traces() override { fs::remove_all(folder_); }

  ProgramRun traced(const char* program) const {
    return run_program({"copies", program}, {{"STANDIN_MACHINE", "beluga"},
                                             {"POLYPATH_TRACE", folder_ + "/trace.json"},
                                             {"POLYPATH_LEDGER", "0"}});
  }
  // Whole ones: else this does not parse.
  [[nodiscard]] std::vector<json> files() const {
    std::vector<json> files;
    for (const auto& entry : fs::directory_iterator(folder_))
      files.push_back(json::parse(*read_file(entry.path().string(), kMost)));
    return files;
  }
  static std::vector<std::string> names(const json& events, const std::string& category) {
    std::vector<std::string> names;
    for (const json& event : events)
      if (event.value("cat", "") == category && event["ph"] == "X") names.push_back(event["name"]);
    return names;
  }

  const std::string folder_ = [] {
    std::string path = (fs::temp_directory_path() / "polypath-trace-XXXXXX").string();
    return std::string(mkdtemp(path.data()));
  }();
};

// 64 MiB between two of beluga's GPUs.
TEST_F(Traces, SayWhatWentWhere) {
  const ProgramRun plain = run_plain({"copies", "async"});

  const ProgramRun run = traced("async");

  ASSERT_EQ(run.status, 0) << run.errors;
  EXPECT_EQ(run.output, plain.output);
  EXPECT_EQ(run.calls(kAccelerated), 1U);
  const auto all = files();
  ASSERT_THAT(all, SizeIs(1));
  const auto copies = names(all[0], "copy");
  const auto via = [&](const std::string& relay) {
    return std::count_if(copies.begin(), copies.end(), [&](const std::string& name) {
      return name.starts_with("gpu0 -> gpu1 via " + relay + ", chunk 1 of ");
    });
  };
  EXPECT_EQ(via("gpu2"), 2);  // both hops
  EXPECT_EQ(via("gpu3"), 2);
  EXPECT_THAT(names(all[0], "issue"),
              testing::Contains(testing::AllOf(testing::HasSubstr("pieces of gpu0 -> gpu1"),
                                               testing::EndsWith(", 64 MiB"))));
}

TEST_F(Traces, HaveTheNativeCopiesAndWhyTheyAreNative) {
  const ProgramRun run = traced("in_order");

  ASSERT_EQ(run.status, 0) << run.errors;
  const auto all = files();
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_THAT(names(all[0], "call"),
              testing::Contains(testing::HasSubstr(text_of(Outcome::same_memory))));
  EXPECT_THAT(names(all[0], "copy"), testing::Contains(testing::HasSubstr("one native copy")));
}

class TracesOfTroubled : public Traces, public testing::WithParamInterface<const char*> {};

// One file, which is whole, however the program treats its GPUs and its processes.
TEST_P(TracesOfTroubled, AreWholeAndDisturbNothing) {
  const ProgramRun plain = run_plain({"copies", GetParam()});

  const ProgramRun run = traced(GetParam());

  ASSERT_EQ(run.status, plain.status) << run.errors;
  EXPECT_EQ(run.output, plain.output);
  EXPECT_THAT(files(), SizeIs(1));
}

INSTANTIATE_TEST_SUITE_P(OverTheStandIn, TracesOfTroubled,
                         testing::Values("forking", "resetting", "capturing", "legacy_stream",
                                         "host_async", "batch", "copying_at_exit", "threads",
                                         "copying_in_destructors", "per_thread_stream"));

TEST_F(Traces, OfNoCopyAreNoFile) {
  const ProgramRun run = traced("small_only");

  ASSERT_EQ(run.status, 0) << run.errors;
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(Traces, AFileThatCannotBeWrittenIsSaidOnce) {
  const ProgramRun run =
      run_program({"copies", "async"}, {{"POLYPATH_TRACE", folder_ + "/none/trace.json"}});

  ASSERT_EQ(run.status, 0) << run.errors;
  EXPECT_THAT(run.errors, testing::HasSubstr("cannot be written (No such file or directory)"));
  EXPECT_EQ(run.calls(kAccelerated), 1U);
}

}  // namespace
}  // namespace polypath::preload::traces_test
