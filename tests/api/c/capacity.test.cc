// A buffer for text is filled to its last byte and never beyond.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "polypath.h"

namespace {

constexpr char kUntouched = '#';

class PlanText : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(polypath_context_create("beluga", &context_), POLYPATH_SUCCESS);
    ASSERT_EQ(plan(nullptr, 0), POLYPATH_SUCCESS);
    ASSERT_GT(needed_, 1U);
    room_.assign(needed_ + 16, kUntouched);
  }
  void TearDown() override { polypath_context_destroy(context_); }

  polypath_status plan(char* json, size_t capacity) {
    return polypath_plan(context_, "gpu0", "gpu1", 1 << 24, json, capacity, &needed_);
  }

  polypath_context* context_ = nullptr;
  size_t needed_ = 0;
  std::vector<char> room_;
};

TEST_F(PlanText, OneByteShortIsTooSmall) {
  const polypath_status status = plan(room_.data(), needed_ - 1);

  EXPECT_EQ(status, POLYPATH_INVALID_ARGUMENT);
  EXPECT_THAT(polypath_last_error(), testing::HasSubstr(std::to_string(needed_) + " bytes are"));
  EXPECT_EQ(std::count(room_.begin(), room_.end(), kUntouched),
            static_cast<std::ptrdiff_t>(room_.size()));
}

TEST_F(PlanText, WhatIsNeededIsEnough) {
  const polypath_status status = plan(room_.data(), needed_);

  EXPECT_EQ(status, POLYPATH_SUCCESS);
  EXPECT_EQ(std::string(room_.data()).size(), needed_ - 1);
  EXPECT_EQ(room_[needed_ - 2], '}');
  EXPECT_EQ(
      std::count(room_.begin() + static_cast<std::ptrdiff_t>(needed_), room_.end(), kUntouched),
      16);
}

}  // namespace
