// Processes told apart by number and start time.

#include "core/process_identity.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "support/layers.h"

namespace polypath::test::process_identity_test {
namespace {

std::string stat_line(const std::string& name, const std::string& state, const std::string& start) {
  std::string line = "77 (" + name + ") " + state;
  for (int field = 4; field < 22; ++field) line += " " + std::to_string(field);
  return line + " " + start + " 23 24\n";
}

TEST(ProcessIdentity, ThisProcessIsAlive) {
  const auto self = this_process();
  ASSERT_TRUE(self);
  EXPECT_EQ(self->number, getpid());
  EXPECT_TRUE(is_alive(*self));
}

TEST(ProcessIdentity, AnotherStartOrNumberSpaceIsAnotherProcess) {
  ProcessIdentity later = this_process().value();
  ++later.start;
  ProcessIdentity elsewhere = this_process().value();
  ++elsewhere.number_space;
  EXPECT_FALSE(is_alive(later));
  EXPECT_FALSE(is_alive(elsewhere));
  EXPECT_FALSE(is_alive({}));
}

TEST(ProcessIdentity, ReadsTheStartWhateverTheProgramsNameIs) {
  EXPECT_EQ(start_in(stat_line("python3", "S", "123456").c_str()), 123456U);
  EXPECT_EQ(start_in(stat_line("a b) R 1 2 (c", "R", "9").c_str()), 9U);
}

TEST(ProcessIdentity, TheDeadHaveNoStart) {
  EXPECT_EQ(start_in(stat_line("gone", "Z", "1").c_str()), std::nullopt);
  EXPECT_EQ(start_in(stat_line("gone", "X", "1").c_str()), std::nullopt);
}

TEST(ProcessIdentity, WhatIsNoStatLineHasNoStart) {
  for (const char* text : {"", "77", "77 (a) S", "77 (a", "77 (a) S 1 2 3 4 5 6 7 8 9 10 11 12"})
    EXPECT_EQ(start_in(text), std::nullopt) << text;
  EXPECT_EQ(start_in(stat_line("a", "S", "12x").c_str()), std::nullopt);
}

}  // namespace
}  // namespace polypath::test::process_identity_test
