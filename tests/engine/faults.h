#pragma once
// What the tests of failing driver calls share: copies that can be made, fail, and be checked.

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "core/error.h"
#include "support/effort.h"
#include "support/forwarding_driver.h"
#include "support/rig.h"

namespace polypath::test {

/// Of the uses of a call after `before`, counted from 1, those that are made to fail: the first and the last from
/// each place in the program; in the long form all.
inline std::vector<int> uses_to_fail(const sim::SimDriver& driver, sim::Call call, int before) {
  if (!is_long()) return driver.uses_by_site(call, before);
  std::vector<int> all(static_cast<std::size_t>(driver.uses(call) - before));
  std::iota(all.begin(), all.end(), 1);
  return all;
}

/// Copies of one kind. Each has another source than the one before, so that no bytes are right
/// because they were right already.
class FaultSubject {
 public:
  FaultSubject(const FaultSubject&) = delete;
  FaultSubject& operator=(const FaultSubject&) = delete;
  virtual ~FaultSubject() = default;

  /// Makes the next copy; false if it reported an error: its bytes are anything then.
  bool transfer() {
    std::swap(source_, other_source_);
    try {
      rig_.copy(*destination_, *source_, stream_, options_);
      return true;
    } catch (const Error& error) {
      EXPECT_TRUE(error.code() == ErrorCode::driver || error.code() == ErrorCode::out_of_memory)
          << error.what();
      return false;
    }
  }

  /// Bytes are right, if it was a success, and so are those of what comes next; then, with an
  /// engine less, everything has been given back.
  void expect_right(bool success) {
    rig_.driver().clear_faults();
    rig_.synchronize();
    if (success) EXPECT_TRUE(Rig::intact(*destination_));
    const Statistics before = rig_.statistics();
    EXPECT_TRUE(transfer());
    after_next(before);
    EXPECT_TRUE(rig_.intact());
    rig_.destroy_engines();
    EXPECT_EQ(rig_.driver().leaks(), baseline_);
    EXPECT_THAT(rig_.driver().violations(), testing::IsEmpty());
    rig_.add_engine();
    start();
  }

  /// How often a copy makes this call. The copy and what it leaves behind are checked.
  int uses_in_transfer(sim::Call call) {
    const int before = rig_.driver().uses(call);
    EXPECT_TRUE(transfer());
    const int uses = rig_.driver().uses(call) - before;
    expect_right(true);
    return uses;
  }

  /// Runs `test` for each kind of call with the uses in a copy that are made to fail.
  template <class Test>
  void for_every_call(Test test) {
    rig_.driver().watch_sites();
    for (int kind = 0; kind < sim::kCallKinds; ++kind) {
      const auto call = static_cast<sim::Call>(kind);
      SCOPED_TRACE(sim::name_of(call));
      const int before = rig_.driver().uses(call);
      EXPECT_TRUE(transfer());
      const std::vector<int> uses = uses_to_fail(rig_.driver(), call, before);
      expect_right(true);
      test(call, uses);
    }
    EXPECT_THAT(rig_.close(), testing::IsEmpty());
  }

  Rig& rig() { return rig_; }

 protected:
  FaultSubject(const Settings& settings, PlanOptions options)
      : rig_("beluga", settings), options_(std::move(options)) {}

  /// The buffers, once all that the test itself allocates is there.
  void use(Buffer& source, Buffer& other_source, Buffer& destination) {
    source_ = &source;
    other_source_ = &other_source;
    destination_ = &destination;
    baseline_ = rig_.driver().leaks();
    start();
  }
  /// What a new engine is to have done before a copy is made to fail.
  virtual void start() {}
  /// What is right, too, once a copy after the failure has been made; `before` it this was counted.
  virtual void after_next(const Statistics& before) = 0;

  Rig rig_;
  StreamHandle stream_ = rig_.stream("gpu0");
  PlanOptions options_;
  Buffer* source_ = nullptr;
  Buffer* other_source_ = nullptr;
  Buffer* destination_ = nullptr;

 private:
  std::vector<std::string> baseline_;
};

/// A driver that cannot wait for a stream any more once `working` calls have done so.
class WithoutSynchronize final : public ForwardingDriver {
 public:
  static constexpr int kAlways = 1 << 20;

  using ForwardingDriver::ForwardingDriver;
  void synchronize(StreamHandle stream) override {
    if (working-- <= 0) throw Error(ErrorCode::driver, "synchronize failed");
    ForwardingDriver::synchronize(stream);
  }
  void synchronize(EventHandle event) override { ForwardingDriver::synchronize(event); }
  int working = kAlways;
};

}  // namespace polypath::test
