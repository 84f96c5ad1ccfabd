// Copies that may be held are known until what is before them has finished.

#include "ways/preload/held_copies.h"

#include <thread>

#include "driver/hand_driver.h"

namespace polypath::preload::held_copies_test {
namespace {

class Held : public test::HandDriver {
 protected:
  StreamHandle busy_stream() {
    const StreamHandle stream = driver_.create_stream(gpu(0));
    copy(memory(gpu(1), 1 << 20), memory(gpu(0), 1 << 20), 1 << 20, stream);
    return stream;
  }

  HeldCopies held_{driver_};
};

TEST_F(Held, ThereAreNoneAtFirst) { EXPECT_FALSE(held_.any()); }

TEST_F(Held, BehindWorkTheyAreUntilItHasFinished) {
  const StreamHandle stream = busy_stream();

  held_.note(stream, gpu(0));
  const bool before = held_.any();
  driver_.synchronize(stream);

  EXPECT_TRUE(before);
  EXPECT_FALSE(held_.any());
}

TEST_F(Held, BehindNothingTheyAreNot) {
  held_.note(driver_.create_stream(gpu(0)), gpu(0));

  EXPECT_FALSE(held_.any());
}

TEST_F(Held, WhatIsBeforeTheNewestCopyOfAStreamCounts) {
  const StreamHandle stream = driver_.create_stream(gpu(0));
  held_.note(stream, gpu(0));
  copy(memory(gpu(1), 1 << 20), memory(gpu(0), 1 << 20), 1 << 20, stream);

  held_.note(stream, gpu(0));

  EXPECT_TRUE(held_.any());
}

TEST_F(Held, OneOfManyStreamsIsEnough) {
  const StreamHandle busy = busy_stream();
  held_.note(busy, gpu(0));
  for (int i = 0; i < 200; ++i) held_.note(driver_.create_stream(gpu(1)), gpu(1));

  EXPECT_TRUE(held_.any());
  driver_.synchronize(busy);
  EXPECT_FALSE(held_.any());
}

// The default stream of a thread has one name in all of them.
TEST_F(Held, AStreamOfAnotherThreadIsAnotherOne) {
  const StreamHandle stream = busy_stream();
  held_.note(stream, gpu(0));

  std::thread([&] { held_.note(stream, gpu(0)); }).join();

  EXPECT_TRUE(held_.any());
  driver_.synchronize(stream);
  EXPECT_FALSE(held_.any());
}

}  // namespace
}  // namespace polypath::preload::held_copies_test
