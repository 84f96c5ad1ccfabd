#include "collective/rank/run_ends.h"

#include <algorithm>

namespace polypath::collective {
namespace {

constexpr int kRemembered = 256;  // runs

}  // namespace

RunEnds::RunEnds(Driver& driver, PlaceId gpu) : driver_(driver), ends_(driver, gpu) {
  (void)ends_.at(kRemembered - 1);  // all are there before the first query
}

EventHandle RunEnds::end_of(std::uint64_t run) {
  return ends_.at(static_cast<int>(run % kRemembered));
}

void RunEnds::come_after_last(StreamHandle stream) {
  const EventHandle last = last_;
  if (last.value != 0 && stream != last_stream_) driver_.wait(stream, last);
}

std::uint64_t RunEnds::end(StreamHandle stream) {
  const EventHandle ended = end_of(next());
  driver_.record(ended, stream);
  last_ = ended, last_stream_ = stream;
  return ++newest_;
}

// Runs end in order, so a run that is over shows that all before it are over. A query of the driver
// takes over a microsecond, in which no thread can enqueue: few queries have to serve hundreds of
// runs.
bool RunEnds::is_done(std::uint64_t run) {
  const std::uint64_t newest = newest_;
  if (run <= done_ || run + kRemembered <= newest) return true;
  for (std::uint64_t later = newest; later >= run; later = run + (later - run) / 2) {
    if (driver_.is_done(end_of(later))) {
      done_ = later;
      return true;
    }
    if (later == run) break;
  }
  return false;
}

bool RunEnds::is_over(std::uint64_t run) {
  const std::uint64_t newest = newest_;
  return is_done(std::max(run, newest < kRemembered ? run : newest - kRemembered + 1));
}

bool RunEnds::is_last_over() const {
  const EventHandle last = last_;
  return last.value == 0 || driver_.is_done(last);
}

void RunEnds::synchronize() {
  if (const EventHandle last = last_; last.value != 0) driver_.synchronize(last);
}

}  // namespace polypath::collective
