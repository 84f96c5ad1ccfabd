#pragma once
// Programs on the chaotic driver, each in a process of its own, so that each has its own seed and
// settings.

#include <atomic>
#include <functional>
#include <map>
#include <semaphore>

#include "standin/program.h"
#include "support/layers.h"

namespace polypath::test {

using Variables = std::map<std::string, std::string>;

constexpr std::size_t kPieces = std::size_t{1} << 20;  // bytes that come in several pieces

/// Holds a stream where its function stands, until it is opened.
class Gate {
 public:
  /// Puts the function into the stream.
  void close(StreamPointer stream);
  void open() { closed_.release(); }
  /// Opens it on another thread after a while, in which a driver that does not wait goes on.
  void open_later();
  [[nodiscard]] bool is_open() const { return open_.load(); }

 private:
  std::binary_semaphore closed_{0};
  std::atomic<bool> open_ = false;
};

class Chaos : public StandIn {
 protected:
  void SetUp() override {}  // the programs set themselves up
  void TearDown() override {}

  /// What the program returns, below 100. It fails the test where an expectation of it does, it
  /// hangs, or it did what the driver reports as wrong.
  int run(const Variables& environment, const std::function<int()>& program);
  int run(int seed, const std::function<int()>& program) {
    return run({{"STANDIN_CHAOS", std::to_string(seed)}}, program);
  }
  /// True if the program returns `outcome` with some seed.
  bool happens(int outcome, const std::function<int()>& program);
  /// True if it does with every one that is tried.
  bool always(int outcome, const std::function<int()>& program);

  StreamPointer stream_of(int gpu, unsigned flags = cuda::kStreamNonBlocking);
  EventPointer recorded(StreamPointer stream);
  void fill(DevicePointer to, unsigned char value, std::size_t bytes, StreamPointer stream);
  void copy(DevicePointer to, DevicePointer from, std::size_t bytes, StreamPointer stream);
  static bool is_done(StreamPointer stream);
  static bool is_done(EventPointer event);
  static void finish(StreamPointer stream);
  /// Device memory with all bytes alike, and a look at them that waits for nothing else.
  DevicePointer filled(std::size_t bytes, unsigned char value, int gpu = 0);
  Contents contents(DevicePointer from, std::size_t bytes);
  /// 1 if all bytes of memory of kPieces are alike, as a program returns it; else 0.
  int all_are(DevicePointer memory, unsigned char value);
  /// A context of one more GPU.
  ContextPointer context_of(int gpu);
};

}  // namespace polypath::test
