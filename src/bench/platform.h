#pragma once
// The platform of a benchmark: a simulated machine, or this computer's GPUs. It knows how to fill
// and compare memories that the host may not reach, and how ranks' CPU threads are told apart.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "context/open.h"

namespace polypath::bench {

class Platform {
 public:
  explicit Platform(OpenMachine opened) : opened_(std::move(opened)) {}
  Platform(const Platform&) = delete;
  Platform& operator=(const Platform&) = delete;
  virtual ~Platform() = default;

  [[nodiscard]] const OpenMachine& opened() const { return opened_; }
  [[nodiscard]] const Machine& machine() const { return opened_.machine(); }
  [[nodiscard]] Driver& driver() const { return opened_.driver(); }
  /// True if time passes by itself, so that a measurement has to be repeated.
  [[nodiscard]] bool real() const { return !opened_.simulated(); }
  /// Calls from now on come from this lane's virtual CPU thread; nothing on real GPUs, where lanes
  /// are real threads.
  virtual void use_lane(std::size_t) {}
  /// All lanes' clocks meet.
  virtual void align_lanes() {}
  /// Lanes are threads that call at the same time, or no longer; real ones need not be told.
  virtual void lanes_at_once(bool) {}
  /// Waits until what came before no longer counts: caches of host memory are empty again. Real
  /// runs take turns with native ones, which leave them time enough.
  virtual void rest() {}
  /// Fills the memory with bytes that follow from the seed; nothing queued may use it.
  virtual void fill(Address address, Bytes bytes, std::uint64_t seed) = 0;
  /// True if the two memories hold the same bytes.
  virtual bool same(Address a, Address b, Bytes bytes) = 0;
  /// The errors that the driver itself has found.
  virtual std::vector<std::string> violations() { return {}; }
  /// The copies so far, where they are recorded.
  virtual std::vector<sim::Span> trace() { return {}; }

 private:
  OpenMachine opened_;
};

std::unique_ptr<Platform> make_platform(OpenMachine opened);

}  // namespace polypath::bench
