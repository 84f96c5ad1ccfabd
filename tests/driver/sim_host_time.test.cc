// Virtual time of several host threads, worked out by hand as in sim_time.test.cc.

#include "driver/hand_driver.h"

namespace polypath::test {
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

}  // namespace
}  // namespace polypath::test
