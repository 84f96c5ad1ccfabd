// Calls of one library sent elsewhere, whether the loader has sealed its table or not.

#include "ways/preload/redirect.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

// What the library is linked to: this program's, before it is redirected.
extern "C" {
__attribute__((visibility("default"))) int redirect_test_free(unsigned long long) { return 1; }
__attribute__((visibility("default"))) int redirect_test_count(int*) { return 2; }
}

namespace polypath::preload {
namespace {

int other_free(unsigned long long) { return 100; }

void* replacement(const char* symbol) {
  return std::strcmp(symbol, "redirect_test_free") == 0 ? reinterpret_cast<void*>(&other_free)
                                                        : nullptr;
}

void* nothing(const char*) { return nullptr; }

class Redirected : public testing::TestWithParam<const char*> {
 protected:
  Redirected() : library_(dlopen(GetParam(), RTLD_LAZY | RTLD_LOCAL)) {}
  ~Redirected() override {
    if (library_ != nullptr) dlclose(library_);
  }
  [[nodiscard]] int call(const char* function) const {
    return reinterpret_cast<int (*)()>(dlsym(library_, function))();
  }
  void* library_;
};

TEST_P(Redirected, CallsGoWhereTheyAreSent) {
  ASSERT_NE(library_, nullptr) << dlerror();
  EXPECT_EQ(call("call_free"), 1);

  EXPECT_GE(redirect_calls(library_, replacement), 1U);

  EXPECT_EQ(call("call_free"), 100);
  EXPECT_EQ(call("call_count"), 2) << "no other call may be touched";
}

// The loader has bound the call already, or not yet.
TEST_P(Redirected, CallsThatHaveNeverBeenMadeToo) {
  ASSERT_NE(library_, nullptr) << dlerror();

  EXPECT_GE(redirect_calls(library_, replacement), 1U);

  EXPECT_EQ(call("call_free"), 100);
}

TEST_P(Redirected, NothingHappensWithoutAReplacement) {
  ASSERT_NE(library_, nullptr) << dlerror();

  EXPECT_EQ(redirect_calls(library_, nothing), 0U);

  EXPECT_EQ(call("call_free"), 1);
}

TEST_P(Redirected, ThisProgramsOwnCallsStay) {
  ASSERT_NE(library_, nullptr) << dlerror();
  (void)redirect_calls(library_, replacement);

  EXPECT_EQ(redirect_test_free(1), 1);
}

INSTANTIATE_TEST_SUITE_P(Libraries, Redirected,
                         testing::Values(POLYPATH_REDIRECTED_LAZY, POLYPATH_REDIRECTED_SEALED),
                         [](const auto& of) { return of.index == 0 ? "Lazy" : "Sealed"; });

TEST(Redirecting, NoLibraryIsNoCalls) { EXPECT_EQ(redirect_calls(nullptr, replacement), 0U); }

}  // namespace
}  // namespace polypath::preload
