// Ranks that see different GPUs: which machine they need, and which GPU each has there.

#include "collective/rank/seen_gpus.h"

#include <gmock/gmock.h>

#include "core/error.h"
#include "driver/sim/sim_driver.h"
#include "machine/load_machine.h"
#include "support/layers.h"

namespace polypath::test::seen_gpus_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(SeenGpus, AreTheProcesssIfAllRanksSeeTheSameInOneOrder) {
  const Blob both = said_of_gpus({"A", "B"});

  EXPECT_EQ(gpus_for_ranks({both, both}), GpusOf::process);
  EXPECT_EQ(gpus_for_ranks({both, said_of_gpus({"B", "A"})}), GpusOf::computer);
  EXPECT_EQ(gpus_for_ranks({said_of_gpus({"A"}), said_of_gpus({"B"})}), GpusOf::computer);
}

TEST(SeenGpus, WithoutARankAreInNoPlan) {
  Settings settings;
  settings.exclude = {"host"};

  const Settings made = without_other_gpus(settings, load_machine("h200x4"), {"gpu1", "gpu3"});

  EXPECT_THAT(made.exclude, ElementsAre("host", "gpu0", "gpu2"));
}

class OneOfFour : public testing::Test {
 protected:
  [[nodiscard]] RanksMachine seeing(std::vector<PlaceId> visible) {
    return {.driver = driver_,
            .machine = driver_.machine(),
            .settings = {},
            .visible = std::move(visible)};
  }
  [[nodiscard]] PlaceId place(const char* name) const { return driver_.machine().find_place(name); }

  sim::SimDriver driver_{load_machine("h200x4")};
};

TEST_F(OneOfFour, IsTheOnlyOneThatIsSeenOrThatOfTheRanksNumber) {
  EXPECT_EQ(usual_gpu(seeing({place("gpu2")}), 3), place("gpu2"));
  EXPECT_EQ(usual_gpu(seeing({place("gpu2"), place("gpu0")}), 1), place("gpu0"));
}

TEST_F(OneOfFour, IsNoneThatTheProcessDoesNotSee) {
  const RanksMachine seen = seeing({place("gpu2"), place("gpu0")});

  for (const auto& [ask, part] : {std::pair<std::function<void()>, const char*>{
                                      [&] { (void)usual_gpu(seen, 3); }, "has no GPU"},
                                  {[&] { (void)seen.number_of(place("gpu3")); }, "gpu3 cannot be"},
                                  {[&] { (void)seen.number_of(place("host0")); }, "host0 cannot"}})
    try {
      ask();
      FAIL() << part;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      EXPECT_THAT(error.what(), HasSubstr(part));
    }
}

}  // namespace
}  // namespace polypath::test::seen_gpus_test
