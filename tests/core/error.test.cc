#include "core/error.h"

#include <gtest/gtest.h>

#include "support/layers.h"

namespace polypath::test::error_test {
namespace {

std::string message_of(const std::string& problem, const std::string& why,
                       const std::string& remedy) {
  try {
    fail(ErrorCode::unsupported, problem, why, remedy);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    return error.what();
  }
}

TEST(Fail, WritesProblemReasonAndRemedy) {
  EXPECT_EQ(message_of("x is odd", "pairs are needed", "Give an even x."),
            "x is odd (pairs are needed) Give an even x.");
  EXPECT_EQ(message_of("x is odd", "", "Give an even x."), "x is odd Give an even x.");
  EXPECT_EQ(message_of("x is odd", "pairs are needed", ""), "x is odd (pairs are needed)");
}

TEST(NameOf, KnowsEveryCode) {
  EXPECT_STREQ(name_of(ErrorCode::invalid_argument), "invalid argument");
  EXPECT_STREQ(name_of(ErrorCode::invalid_machine), "invalid machine");
  EXPECT_STREQ(name_of(ErrorCode::invalid_setting), "invalid setting");
  EXPECT_STREQ(name_of(ErrorCode::out_of_memory), "out of memory");
  EXPECT_STREQ(name_of(ErrorCode::driver), "driver error");
  EXPECT_STREQ(name_of(ErrorCode::unsupported), "unsupported");
  EXPECT_STREQ(name_of(ErrorCode::noisy_machine), "noisy machine");
  EXPECT_STREQ(name_of(ErrorCode::communicator), "communicator error");
  EXPECT_STREQ(name_of(ErrorCode::internal), "internal error");
}

}  // namespace
}  // namespace polypath::test::error_test
