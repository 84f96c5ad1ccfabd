#include "communicator/terms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "communicator/together.h"
#include "support/layers.h"

namespace polypath::test::terms_test {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

// What each rank comes with; each one's error, or "".
std::vector<std::string> agree(const std::vector<std::vector<Term>>& terms) {
  const auto all = test::communicators(static_cast<int>(terms.size()));
  return test::in_threads(static_cast<int>(terms.size()), [&](int rank) {
    const auto at = static_cast<std::size_t>(rank);
    agree_on(*all[at], terms[at]);
  });
}

TEST(Terms, ThatAreTheSameAreAgreedOn) {
  const std::vector<Term> terms = {{"SCRATCH", "384M"}, {"PATHS", ""}};

  test::expect_no_errors(agree({terms, terms, terms}));
}

TEST(Terms, ThatDifferAreNamedAtAllRanks) {
  const std::vector<Term> terms = {{"SCRATCH", "384M"}, {"PATHS", ""}};

  EXPECT_THAT(agree({terms, terms, {{"SCRATCH", "384M"}, {"PATHS", "host"}}}),
              Each(AllOf(HasSubstr("The ranks differ in PATHS"),
                         HasSubstr("'' at rank 0 and 'host' at rank 2"))));
}

TEST(Terms, OfWhichOneRankKnowsMoreAreNotAgreedOn) {
  EXPECT_THAT(agree({{{"SCRATCH", "384M"}}, {{"SCRATCH", "384M"}, {"PATHS", ""}}}),
              Each(HasSubstr("The ranks differ in")));
}

}  // namespace
}  // namespace polypath::test::terms_test
