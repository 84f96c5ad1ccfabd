#pragma once
// Tests that run programs over the stand-in driver.

#include <gtest/gtest.h>

#include "api/preload/outcome.h"
#include "api/preload/program_run.h"

namespace polypath::preload {

class Programs : public testing::Test {
 protected:
  static constexpr const char* kAccelerated = "accelerated";  ///< in the table of copies

  void SetUp() override {
    if (standin_folder().empty()) GTEST_SKIP() << "the stand-in driver has not been built";
  }
};

}  // namespace polypath::preload
