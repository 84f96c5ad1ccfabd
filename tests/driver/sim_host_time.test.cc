// Virtual time of several host threads, worked out by hand as in sim_time.test.cc.

#include "driver/hand_driver.h"
#include "support/layers.h"

namespace polypath::test::sim_host_time_test {
namespace {

using Time = HandDriver;

TEST_F(Time, HostThreadsHaveTheirOwnClocks) {
  const StreamHandle stream = driver_.create_stream(gpu(0));
  const EventHandle event = driver_.create_event(gpu(0));

  driver_.record(event, stream);
  driver_.use_host_thread(1);
  expect_now(2);  // a new thread starts where its creator stands
  driver_.record(event, stream);
  driver_.record(event, stream);
  expect_now(6);
  driver_.use_host_thread(0);
  expect_now(2);
}

TEST_F(Time, HostThreadsGoOnTogetherFromTheLatest) {
  const StreamHandle stream = driver_.create_stream(gpu(0));
  const EventHandle event = driver_.create_event(gpu(0));
  driver_.use_host_thread(1);
  driver_.record(event, stream);
  driver_.use_host_thread(2);

  driver_.align_host_threads();

  for (const std::size_t thread : {0, 1, 2}) {
    driver_.use_host_thread(thread);
    expect_now(2);
  }
}

// Each thread issues its copy at 1, over different links: both end at 21.
TEST_F(Time, HostThreadsIssueBesideEachOther) {
  const StreamHandle first = driver_.create_stream(gpu(0));
  const StreamHandle second = driver_.create_stream(gpu(1));
  driver_.use_host_thread(1);
  driver_.use_host_thread(0);

  copy(memory(gpu(1), 8000), memory(gpu(0), 8000), 8000, first);
  driver_.use_host_thread(1);
  copy(memory(gpu(2), 8000), memory(gpu(1), 8000), 8000, second);
  driver_.synchronize(second);

  expect_now(21 + 4);
  for (const sim::Span& span : driver_.trace()) expect_time(span.finished, 21);
}

// --- threads that hold each other up, by 2 us a call ---

class HeldUpTime : public HandDriver {
 protected:
  HeldUpTime() : held_up_(machine()) {}
  static Machine machine() {
    Machine machine = hand_machine();
    machine.costs.threads_hold_up = 2_us;
    return machine;
  }
  Driver::Enqueued copy_between(int source, int destination) {
    const Address from = held_up_.allocate(gpu(source), 8000_B);
    const Address to = held_up_.allocate(gpu(destination), 8000_B);
    return {{to, gpu(destination), from, gpu(source), 8000_B, {}},
            held_up_.create_stream(gpu(source))};
  }

  sim::SimDriver held_up_;
};

// Issued at 1, 10 + 8000/800 on the way, known 4 later.
TEST_F(HeldUpTime, OneThreadIsNotHeldUp) {
  expect_time(held_up_.copy_by_threads({copy_between(0, 1)}), 25);
}

// Each of the two calls takes 2 longer: 3 + 20 + 6.
TEST_F(HeldUpTime, TwoThreadsHoldEachOtherUp) {
  expect_time(held_up_.copy_by_threads({copy_between(0, 1), copy_between(1, 2)}), 29);
  expect_time(held_up_.copy_by_threads({copy_between(0, 1)}), 25);
}

// Ranks that are processes have clocks of their own, too.
TEST_F(HeldUpTime, OnlyWhereItIsSaidThatThereAreSeveral) {
  const Driver::Enqueued one = copy_between(0, 1);
  held_up_.use_host_thread(1);
  held_up_.copy(one.request, one.stream);
  expect_time(held_up_.now(), 1);
  held_up_.hold_up_threads(true);
  held_up_.copy(one.request, one.stream);
  expect_time(held_up_.now(), 4);
}

}  // namespace
}  // namespace polypath::test::sim_host_time_test
