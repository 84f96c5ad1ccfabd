#pragma once
// The static search that the papers tune with (002, section 3.2): the best shares and chunk counts
// of one transfer, found by running candidates on the simulated machine.
//
// Every combination on a grid: paths that are alike (same hops' numbers) carry equal shares, in
// steps of 1 %, with chunk counts 2, 4, ... 64; of more than five paths or three kinds, in steps of
// 5 % with one count for all. A combination that could not beat the best so far even if nothing got
// in its way (least_time.h) is not run, which loses nothing. Before and after, from the automatic
// plan and from the best of the grid: every change of one path's share by 1 to 8 % against every
// other path's, and of one chunk count, until none is faster. Alike paths are told apart there. The
// automatic plan itself splits finer than 1 % and tapers its chunks, so it can be the faster one.

#include "bench/measure.h"
#include "plan/tuned.h"

namespace polypath::bench {

struct TuneRequest {
  Machine machine;
  std::vector<Lane> pairs;
  std::vector<Bytes> sizes;
  std::vector<Executor> executors;
  Settings settings;
};

struct Tuned {
  TunedEntry entry;           ///< and its gain
  Seconds seconds;            ///< of the best found
  Seconds automatic_seconds;  ///< of the automatic plan on the same machine
  Seconds native_seconds;
};

/// Searches one pair, size and executor.
Tuned tune_one(const Machine& machine, const Lane& pair, Bytes bytes, Executor executor,
               const Settings& settings);

std::vector<Tuned> tune_all(const TuneRequest& request, const Progress& progress);

}  // namespace polypath::bench
