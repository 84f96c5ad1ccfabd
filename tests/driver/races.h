#pragma once
// Work whose order the race report is asked about.

#include <gmock/gmock.h>

#include "driver/hand_driver.h"
#include "support/layers.h"

namespace polypath::test {

// Bytes go from `source` to `middle` on one stream and from `middle` to `destination` on another;
// the tests order the two, or do not.
class Races : public HandDriver {
 protected:
  void first() { copy(middle_, source_, 8000, writer_); }
  void second() { copy(destination_, middle_, 8000, reader_); }
  // Lets far more time pass than any copy here takes, without a look at the writer's stream.
  void let_time_pass() {
    copy(memory(gpu(1), 1 << 20), memory(gpu(0), 1 << 20), 1 << 20, idle_);
    driver_.synchronize(idle_);
  }
  auto one_race() {
    using testing::AllOf, testing::ElementsAre, testing::HasSubstr;
    return ElementsAre(AllOf(HasSubstr("race: "), HasSubstr("8000 bytes from gpu0 to gpu1"),
                             HasSubstr("(writes)"), HasSubstr("8000 bytes from gpu1 to gpu2"),
                             HasSubstr("(reads)"), HasSubstr("nothing orders them")));
  }

  StreamHandle writer_ = driver_.create_stream(gpu(0));
  StreamHandle reader_ = driver_.create_stream(gpu(1));
  StreamHandle idle_ = driver_.create_stream(gpu(0));
  EventHandle written_ = driver_.create_event(gpu(0));
  Address source_ = memory(gpu(0), 8000);
  Address middle_ = memory(gpu(1), 8000);
  Address destination_ = memory(gpu(2), 8000);
};

}  // namespace polypath::test
