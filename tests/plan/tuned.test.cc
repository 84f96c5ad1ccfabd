// Tables of tuned plans: what is written is read, what is damaged is refused with a message.

#include "plan/tuned.h"

#include <gtest/gtest.h>

#include <string>

#include "core/error.h"
#include "support/errors.h"
#include "support/random.h"

namespace polypath {
namespace {

TunedTable table() {
  TunedEntry entry{
      "gpu0",        "gpu1", 64_MiB, Executor::stream, {{"direct", 0.9}, {"gpu2", 0.1}},
      {{"gpu2", 8}}, 1.5};
  TunedTable table{"beluga", {entry}};
  entry.executor = Executor::graph;
  table.entries.push_back(entry);
  return table;
}

TEST(Tuned, ComesBackAsItWasWritten) {
  const std::string text = tuned_to_json(table());

  EXPECT_EQ(tuned_to_json(parse_tuned(text, "here")), text);
}

TEST(Tuned, IsReadOrRefusedHoweverDamaged) {
  const std::string whole = tuned_to_json(table());
  test::Random random(4);

  for (int round = 0; round < 20000; ++round) {
    std::string text = whole;
    for (std::size_t count = 1 + random.index(3); count > 0; --count) {
      const std::size_t at = random.index(text.size());
      switch (random.index(4)) {
        case 0: text[at] = static_cast<char>(random.next()); break;
        case 1: text.erase(at, random.index(30)); break;
        case 2: text.insert(at, text.substr(random.index(text.size()), 30)); break;
        default: text[at] = "{}[]\",:0-e"[random.index(10)];
      }
      if (text.empty()) text = " ";
    }
    try {
      (void)parse_tuned(text, "damaged.json");
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_setting);
      EXPECT_NE(std::string(error.what()).find("damaged.json"), std::string::npos) << error.what();
    }
  }
}

TEST(Tuned, NamesAFileThatIsMissing) {
  test::expect_error(
      ErrorCode::invalid_setting, [] { read_tuned("/nowhere/tuned.json"); }, "/nowhere/tuned.json",
      "cannot be opened");
}

}  // namespace
}  // namespace polypath
