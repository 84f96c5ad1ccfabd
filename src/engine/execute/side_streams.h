#pragma once
// Streams of the engine's own beside streams of the program's. Work in one starts after the present
// work of the program's stream and is complete before the next work there, but runs beside the work
// that the set puts into that stream meanwhile.

#include <memory>
#include <vector>

#include "driver/driver.h"
#include "engine/call/copy_set.h"
#include "engine/execute/events.h"

namespace polypath::engine {

/// A stream that is lent to one of the program's until it is joined.
struct SideStream {
  SideStream(Driver& used_driver, PlaceId owning_gpu);
  SideStream(const SideStream&) = delete;
  SideStream& operator=(const SideStream&) = delete;
  /// Waits for what is queued in it.
  ~SideStream();

  Driver& driver;
  PlaceId gpu;
  StreamHandle stream;
  EventSet end;            ///< recorded when it is joined
  StreamHandle borrower;   ///< the last one
  bool lent = false;       ///< now
  bool used = false;       ///< `end` has been recorded
  bool unsettled = false;  ///< work may be queued in it that cannot be waited for: keep off
};

/// All of an engine. Not thread-safe; the engine guards it.
class SideStreams {
 public:
  explicit SideStreams(Driver& driver) : driver_(driver), forked_(driver) {}

  using Lent = std::vector<SideStream*>;
  /// One for each branch, which starts after what is in the program's stream now. Empty if they
  /// cannot all be had: then nothing is lent.
  [[nodiscard]] Lent fork(const std::vector<Branch>& branches);
  /// The next work in the program's streams starts after the work in these, which are not lent any
  /// more. Where the driver fails, the call waits for that work instead; UnsettledError if it
  /// cannot.
  void join(const Lent& lent);

 private:
  [[nodiscard]] SideStream* lend(const Branch& branch);
  [[nodiscard]] bool is_free(const SideStream& side, const Branch& branch);
  void join(SideStream& side);

  Driver& driver_;
  EventSet forked_;
  std::vector<std::unique_ptr<SideStream>> streams_;
};

}  // namespace polypath::engine
