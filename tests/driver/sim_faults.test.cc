// Failures on request: every kind of call can be made to fail at its n-th use, and then did
// nothing.

#include <functional>
#include <map>

#include "driver/hand_driver.h"
#include "support/add_kernel.h"
#include "support/errors.h"

namespace polypath::test::sim_faults_test {
namespace {

using sim::Call;

// One use of each kind of call, on things made beforehand.
class Faults : public HandDriver, public testing::WithParamInterface<int> {
 protected:
  [[nodiscard]] static Call call() { return static_cast<Call>(GetParam()); }

  // The parameters follow kCallKinds by themselves; the table has to be told of a new kind of call.
  void SetUp() override {
    ASSERT_TRUE(use_of_.contains(call())) << name_of(call()) << " has no use";
  }

  void use() { use_of_.at(call())(); }
  void expect_failure() {
    const ErrorCode code = call() == Call::allocate ? ErrorCode::out_of_memory : ErrorCode::driver;
    const int uses = driver_.uses(call()) + 1;
    expect_error(
        code, [&] { use(); }, std::string(name_of(call())) + " failed",
        "use " + std::to_string(uses));
  }

  StreamHandle stream_ = driver_.create_stream(gpu(0));
  EventHandle event_ = [this] {
    const EventHandle event = driver_.create_event(gpu(0));
    driver_.record(event, stream_);
    return event;
  }();
  CopyRequest request_ = request(memory(gpu(1), 64), memory(gpu(0), 64), 64);
  CopyRequest within_ = request(memory(gpu(0), 64), memory(gpu(0), 64), 64);
  GraphHandle graph_ = driver_.instantiate({{request_, {}}});
  KernelHandle kernel_ = driver_.load_kernel(gpu(0), add_kernel());
  KernelRequest run_ = {
      .kernel = kernel_,
      .gpu = gpu(0),
      .memory = {{.address = within_.destination,
                  .place = gpu(0),
                  .bytes = within_.bytes,
                  .writes = true},
                 {.address = within_.source, .place = gpu(0), .bytes = within_.bytes}},
      .values = {16, 1},
      .duration = 1_us};
  Address flag_ = memory(gpu(0), 4);
  ExportedMemory exported_ = driver_.export_memory(flag_);
  std::vector<Address> allocated_;

  const std::map<Call, std::function<void()>> use_of_ = {
      {Call::allocate, [this] { allocated_.push_back(driver_.allocate(gpu(0), 64_B)); }},
      {Call::free, [this] { driver_.free(driver_.allocate(gpu(0), 64_B)); }},
      {Call::create_stream, [this] { (void)driver_.create_stream(gpu(0)); }},
      {Call::destroy_stream, [this] { driver_.destroy_stream(driver_.create_stream(gpu(0))); }},
      {Call::create_event, [this] { (void)driver_.create_event(gpu(0)); }},
      {Call::destroy_event, [this] { driver_.destroy_event(driver_.create_event(gpu(0))); }},
      {Call::record, [this] { driver_.record(event_, stream_); }},
      {Call::wait, [this] { driver_.wait(stream_, event_); }},
      {Call::is_done, [this] { (void)driver_.is_done(event_); }},
      {Call::elapsed,
       [this] {
         driver_.record(event_, stream_);
         (void)driver_.elapsed(event_, event_);
       }},
      {Call::copy, [this] { driver_.copy(request_, stream_); }},
      {Call::reduce, [this] { driver_.reduce(within_, {}, stream_); }},
      {Call::load_kernel, [this] { (void)driver_.load_kernel(gpu(0), add_kernel()); }},
      {Call::unload_kernel,
       [this] { driver_.unload_kernel(driver_.load_kernel(gpu(0), add_kernel())); }},
      {Call::run_kernel, [this] { driver_.run(run_, stream_); }},
      {Call::write_value, [this] { driver_.write_value(stream_, flag_, gpu(0), 1); }},
      {Call::wait_value, [this] { driver_.wait_value(stream_, flag_, gpu(0), 0); }},
      {Call::export_memory, [this] { (void)driver_.export_memory(flag_); }},
      {Call::import_memory, [this] { (void)driver_.import_memory(exported_, gpu(1)); }},
      {Call::release_import,
       [this] { driver_.release_import(driver_.import_memory(exported_, gpu(1))); }},
      {Call::instantiate,
       [this] {
         (void)driver_.instantiate({{request_, {}}});
       }},
      {Call::update_node,
       [this] { driver_.update_node(graph_, 0, request_.destination, request_.source); }},
      {Call::launch, [this] { driver_.launch(graph_, stream_); }},
      {Call::destroy_graph,
       [this] {
         driver_.destroy_graph(driver_.instantiate({{request_, {}}}));
       }},
      {Call::synchronize, [this] { driver_.synchronize(stream_); }}};
};

std::string call_name(const testing::TestParamInfo<int>& info) {
  return name_of(static_cast<Call>(info.param));
}
INSTANTIATE_TEST_SUITE_P(Calls, Faults, testing::Range(0, sim::kCallKinds), call_name);

TEST_P(Faults, TheNthUseFromNowFailsOnce) {
  use();
  driver_.fail_nth(call(), 3);

  use();
  use();
  expect_failure();
  use();
}

TEST_P(Faults, AllUsesFailFromTheNthOnUntilCleared) {
  driver_.fail_from(call(), 2);

  use();
  expect_failure();
  expect_failure();
  driver_.clear_faults();
  use();
}

TEST_P(Faults, OtherCallsDoNotFail) {
  const Call other = call() == Call::wait ? Call::copy : Call::wait;

  driver_.fail_from(other, 1);

  use();
}

TEST_P(Faults, UsesAreCounted) {
  const int before = driver_.uses(call());

  use();
  driver_.fail_nth(call(), 1);
  EXPECT_THROW(use(), Error);

  EXPECT_EQ(driver_.uses(call()), before + 2);
}

using FailedCall = HandDriver;

TEST_F(FailedCall, CopyCopiesNothing) {
  const Address from = memory(gpu(0), 64);
  const Address to = memory(gpu(1), 64);
  const StreamHandle stream = driver_.create_stream(gpu(0));
  write(from, pattern(64, 1));
  write(to, pattern(64, 2));
  driver_.fail_nth(Call::copy, 1);

  EXPECT_THROW(copy(to, from, 64, stream), Error);
  driver_.synchronize(stream);

  EXPECT_TRUE(same_bytes(read(to, 64), pattern(64, 2)));
}

TEST_F(FailedCall, LaunchLaunchesNothing) {
  const Address from = memory(gpu(0), 64);
  const Address to = memory(gpu(1), 64);
  const StreamHandle stream = driver_.create_stream(gpu(0));
  const GraphHandle graph = driver_.instantiate({{request(to, from, 64), {}}});
  write(to, pattern(64, 2));
  driver_.fail_nth(Call::launch, 1);

  EXPECT_THROW(driver_.launch(graph, stream), Error);
  driver_.synchronize(stream);

  EXPECT_TRUE(same_bytes(read(to, 64), pattern(64, 2)));
}

TEST_F(FailedCall, UpdateKeepsTheOldAddresses) {
  const Address from = memory(gpu(0), 64);
  const Address to = memory(gpu(1), 64);
  const Address other = memory(gpu(1), 64);
  const StreamHandle stream = driver_.create_stream(gpu(0));
  const GraphHandle graph = driver_.instantiate({{request(to, from, 64), {}}});
  write(from, pattern(64, 1));
  driver_.fail_nth(Call::update_node, 1);

  EXPECT_THROW(driver_.update_node(graph, 0, other, from), Error);
  driver_.launch(graph, stream);
  driver_.synchronize(stream);

  EXPECT_TRUE(same_bytes(read(to, 64), pattern(64, 1)));
}

TEST_F(FailedCall, WaitOrdersNothing) {
  const Address from = memory(gpu(0), 64);
  const Address to = memory(gpu(1), 64);
  const StreamHandle writer = driver_.create_stream(gpu(0));
  const StreamHandle reader = driver_.create_stream(gpu(1));
  const EventHandle event = driver_.create_event(gpu(0));
  driver_.fail_nth(Call::wait, 1);

  copy(to, from, 64, writer);
  driver_.record(event, writer);
  EXPECT_THROW(driver_.wait(reader, event), Error);
  copy(memory(gpu(2), 64), to, 64, reader);

  EXPECT_EQ(driver_.violations().size(), 1U);
}

TEST_F(FailedCall, CreatingLeavesNothingBehind) {
  driver_.fail_nth(Call::allocate, 1);
  EXPECT_THROW(driver_.allocate(gpu(0), 64_B), Error);
  driver_.fail_nth(Call::create_stream, 1);
  EXPECT_THROW(driver_.create_stream(gpu(0)), Error);
  driver_.fail_nth(Call::create_event, 1);
  EXPECT_THROW(driver_.create_event(gpu(0)), Error);

  EXPECT_EQ(driver_.leaks(), std::vector<std::string>{});
}

TEST_F(FailedCall, InstantiateLeavesNothingBehind) {
  const Address from = memory(gpu(0), 64);
  const Address to = memory(gpu(1), 64);
  driver_.fail_nth(Call::instantiate, 1);

  EXPECT_THROW(driver_.instantiate({{request(to, from, 64), {}}}), Error);

  driver_.free(from);
  driver_.free(to);
  EXPECT_EQ(driver_.leaks(), std::vector<std::string>{});
}

}  // namespace
}  // namespace polypath::test::sim_faults_test
