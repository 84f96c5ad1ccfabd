#pragma once
// Engines on a simulated machine with buffers whose contents are known: every copy is also made in
// ordinary memory, so that all bytes of all buffers, inside and outside the copied ranges, can be
// compared at any time.

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "driver/sim/sim_driver.h"
#include "engine/engine.h"
#include "support/bytes.h"
#include "support/layers.h"

namespace polypath::test {

/// Memory of a place, and what it must contain once everything queued is done.
struct Buffer {
  PlaceId place;
  Address address;
  Contents expected;
  Contents ordinary;  ///< the memory itself, if it is pageable
};

/// Settings under which messages of a few KiB already go over several paths in several chunks.
Settings small_settings();
/// The same, and under which pageable memory is copied through three windows of 64 KiB by three
/// threads.
Settings window_settings();

/// Options that give each path ("direct", "gpu2", "host") the same share of the message, in at
/// least five chunks where it is staged.
PlanOptions forced(const std::vector<std::string>& paths, std::optional<Executor> executor);
/// The same over all paths that the machine offers; no force within one place.
PlanOptions over_all_paths(const Machine& machine, const std::string& source,
                           const std::string& destination, std::optional<Executor> executor);

class Rig {
 public:
  explicit Rig(const std::string& machine, const Settings& settings = {});
  Rig(const Machine& machine, const Settings& settings);
  Rig(const Rig&) = delete;
  Rig& operator=(const Rig&) = delete;
  ~Rig();

  /// Everything goes through a driver of that type, which forwards to driver() and lives as long as
  /// the engines.
  template <typename Forwarding, typename... Arguments>
  Forwarding& use(Arguments&&... arguments) {
    auto forwarding = std::make_unique<Forwarding>(driver_, std::forward<Arguments>(arguments)...);
    Forwarding& made = *forwarding;
    use(made);
    forwarding_ = std::move(forwarding);
    return made;
  }
  /// Everything goes through `driver`, which must forward to driver() and be destroyed after this.
  void use(Driver& driver);
  /// One engine more, besides the first.
  void add_engine();
  void destroy_engines() { engines_.clear(); }

  Buffer& buffer(const std::string& place, std::size_t bytes);
  /// The same in ordinary memory of the program.
  Buffer& pageable_buffer(std::size_t bytes);
  /// Gives a buffer back; nothing queued may use it.
  void free(Buffer& buffer);
  StreamHandle stream(const std::string& gpu);

  /// The engine's copy of `bytes` bytes between two buffers. An Error passes through and changes no
  /// expectation.
  CopyResult copy(Buffer& destination, std::size_t to, const Buffer& source, std::size_t from,
                  std::size_t bytes, StreamHandle stream, const PlanOptions& options = {},
                  std::size_t engine = 0);
  /// The whole of `source`, which is as large as `destination`.
  CopyResult copy(Buffer& destination, const Buffer& source, StreamHandle stream,
                  const PlanOptions& options = {});
  [[nodiscard]] CopyCall call(const Buffer& destination, std::size_t to, const Buffer& source,
                              std::size_t from, std::size_t bytes, StreamHandle stream,
                              const PlanOptions& options = {}) const;

  /// Waits for all streams, then compares every byte of every buffer.
  testing::AssertionResult intact();
  /// Compares one buffer; its stream must have been waited for.
  static testing::AssertionResult intact(const Buffer& buffer);
  void synchronize();
  /// Destroys the engines and gives everything back; then what the driver found wrong with it all,
  /// leaks included.
  std::vector<std::string> close();

  [[nodiscard]] sim::SimDriver& driver() { return driver_; }
  [[nodiscard]] const Machine& machine() const { return driver_.machine(); }
  [[nodiscard]] Engine& engine(std::size_t index = 0) { return *engines_.at(index); }
  [[nodiscard]] Statistics statistics(std::size_t engine = 0) {
    return this->engine(engine).statistics();
  }

 private:
  Settings settings_;
  sim::SimDriver driver_;
  std::unique_ptr<Driver> forwarding_;
  Driver* used_ = nullptr;
  std::shared_ptr<LoadTracker> load_;
  std::vector<std::unique_ptr<Engine>> engines_;
  std::deque<Buffer> buffers_;
  std::map<StreamHandle, PlaceId> streams_;
  std::uint64_t seed_ = 0;
  bool closed_ = false;
};

}  // namespace polypath::test
