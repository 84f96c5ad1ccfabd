// Calls of one library sent elsewhere, whether the loader has sealed its table or not.

#include "api/preload/call_slots.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

// What the library is linked to: this program's, before its slots are replaced.
extern "C" {
__attribute__((visibility("default"))) int slots_test_free(unsigned long long) { return 1; }
__attribute__((visibility("default"))) int slots_test_count(int*) { return 2; }
}

namespace polypath::preload::call_slots_test {
namespace {

int other_free(unsigned long long) { return 100; }

void* replacement(const char* symbol) {
  return std::strcmp(symbol, "slots_test_free") == 0 ? reinterpret_cast<void*>(&other_free)
                                                     : nullptr;
}

void* nothing(const char*) { return nullptr; }

class CallSlots : public testing::TestWithParam<const char*> {
 protected:
  CallSlots() : library_(dlopen(GetParam(), RTLD_LAZY | RTLD_LOCAL)) {}
  ~CallSlots() override {
    if (library_ != nullptr) dlclose(library_);
  }
  [[nodiscard]] int call(const char* function) const {
    return reinterpret_cast<int (*)()>(dlsym(library_, function))();
  }
  void* library_;
};

TEST_P(CallSlots, CallsGoWhereTheyAreSent) {
  ASSERT_NE(library_, nullptr) << dlerror();
  EXPECT_EQ(call("call_free"), 1);

  EXPECT_GE(replace_call_slots(library_, replacement), 1U);

  EXPECT_EQ(call("call_free"), 100);
  EXPECT_EQ(call("call_count"), 2) << "no other call may be touched";
}

// The loader has bound the call already, or not yet.
TEST_P(CallSlots, CallsThatHaveNeverBeenMadeToo) {
  ASSERT_NE(library_, nullptr) << dlerror();

  EXPECT_GE(replace_call_slots(library_, replacement), 1U);

  EXPECT_EQ(call("call_free"), 100);
}

TEST_P(CallSlots, NothingHappensWithoutAReplacement) {
  ASSERT_NE(library_, nullptr) << dlerror();

  EXPECT_EQ(replace_call_slots(library_, nothing), 0U);

  EXPECT_EQ(call("call_free"), 1);
}

TEST_P(CallSlots, ThisProgramsOwnCallsStay) {
  ASSERT_NE(library_, nullptr) << dlerror();
  (void)replace_call_slots(library_, replacement);

  EXPECT_EQ(slots_test_free(1), 1);
}

INSTANTIATE_TEST_SUITE_P(Libraries, CallSlots,
                         testing::Values(POLYPATH_CALLED_LAZY, POLYPATH_CALLED_SEALED),
                         [](const auto& of) { return of.index == 0 ? "Lazy" : "Sealed"; });

TEST(ReplacedCallSlots, NoLibraryIsNoCalls) {
  EXPECT_EQ(replace_call_slots(nullptr, replacement), 0U);
}

}  // namespace
}  // namespace polypath::preload::call_slots_test
