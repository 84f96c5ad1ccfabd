#pragma once
// Properties of a driver and its host that neither the times of copies nor call costs show. All of
// them are optional in machine files: a number that a file leaves out has the value given here, as
// found on H200s with driver 580. machines/h200x4.json says how each was found.

#include "core/units.h"

namespace polypath::machine {

struct DriverBehaviour {
  /// The gain that must be certain, because transfers end later than predicted: by several paths,
  /// and by a graph instead of streams.
  Seconds least_gain = 5_us;
  /// The same beside the mirror image that another thread of the process issues: threads hold each
  /// other up in the driver.
  Seconds least_gain_two_threads = 20_us;
  /// The same beside the mirror image that the same thread issues.
  Seconds least_gain_one_thread = 20_us;
  /// The gain required over a copy that the driver stages itself, as a fraction: that copy goes in
  /// steps of its own, which a line through the times of large copies misses in small ones.
  double least_gain_driver_staged = 0.08;
  Bytes driver_staged_steps_below = 8_MiB;  ///< from here on the steps do not matter
  /// A native copy that takes no longer is not planned beside others, nor they beside it: looking
  /// for that takes some microseconds, in which others would hardly gain.
  Seconds brief_copy = 100_us;

  BytesPerSecond pageable_in = 7.9_GBps;    ///< the driver's own copies of pageable memory to GPUs
  BytesPerSecond pageable_out = 13.4_GBps;  ///< and from GPUs
  /// Such copies to GPUs wait for what is in the stream from here on. From GPUs they always do.
  Bytes pageable_in_waits_from = 4_MiB;
  Seconds windows_cost = 40'000_us;  ///< what all pinned windows take to be made
  /// A copy of b bytes to a GPU ends b / this earlier through windows than through the driver.
  BytesPerSecond windows_gain_in = 10_GBps;
  BytesPerSecond windows_gain_out = 24_GBps;  ///< the same from a GPU
  int windows_threads = 16;                   ///< more reach no more of a host's memory
  int windows_threads_least = 3;              ///< fewer are slower than the driver

  /// Entries of a stream that are used at most. The call that adds one more than the driver has
  /// room for blocks, and a driver maps streams to fewer queues.
  int stream_entries = 768;

  /// The cost of one more copy of a batch (cuMemcpyBatchAsync) to the calling thread, and the time
  /// that its copy engine spends on it beside its bytes.
  Seconds batch_copy = 0.41_us;
  Seconds batch_latency = 0.42_us;
  /// The gain required of several paths over a batch, as a fraction: they take more calls, whose
  /// times differ between hosts.
  double least_gain_batch = 0.25;

  /// A kernel of a few blocks moves many small pieces at once. The cost of its launch to the
  /// calling thread, with hundreds of addresses; the time from ready to its first instruction; and
  /// the part of a hop's bandwidth that it reaches with so many blocks.
  Seconds kernel_launch = 6_us;
  Seconds kernel_latency = 5_us;
  double kernel_efficiency = 0.93;
  int kernel_blocks = 16;

  /// The cost, to the calling thread, of a call that lets a stream write a flag or wait for one;
  /// and the time from the stream's reaching the write until a stream that waits for it goes on.
  /// The first is not measured: published times of such calls are 1 to 2 us each.
  Seconds flag_call = 1.5_us;
  Seconds flag_latency = 5.8_us;
  /// The time of a kernel that exchanges messages with those of other GPUs (kernels/mail.h), beside
  /// the time of the hops; and the part of a hop's bandwidth that its lines reach.
  Seconds mail_latency = 3.7_us;
  double mail_efficiency = 0.82;
  /// The additional time if it sends its reduced values to all.
  Seconds mail_share_latency = 2_us;
  /// The same of messages that go in parcels instead of lines.
  Seconds parcel_latency = 7.7_us;
  double parcel_efficiency = 0.91;

  /// The factor by which preparing costs more while the program allocates, where a context has to
  /// be made.
  double context_beside_allocations = 16;
};

}  // namespace polypath::machine
