#include "driver/cuda/peer_check.h"

#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "core/ignore_errors.h"
#include "driver/cuda/contexts.h"
#include "driver/cuda/host_pages.h"
#include "driver/cuda/mapped_memory.h"
#include "driver/cuda/stream_room.h"
#include "driver/trial_bytes.h"

namespace polypath::cuda {
namespace {

// On a busy computer a thread may be away for long between two looks: only both together are a
// reason to give up.
constexpr auto kTimeout = std::chrono::seconds(1);
constexpr int kLooks = 4000;
constexpr auto kPause = std::chrono::microseconds(20);

// Pinned, because a copy to pageable memory waits for other streams of its context; and kept for
// the next trial, because giving it back waits, too. It ends with the context in which it was
// registered.
class TrialBytes {
 public:
  static TrialBytes& of_process() {
    static auto& bytes = *new TrialBytes;
    return bytes;
  }

  /// Null if there is none.
  unsigned char* in(ContextPointer context) {
    if (!pages_ || id_of(context_) != context_id_) renew(context);
    return pages_ ? static_cast<unsigned char*>(pages_->begin()) : nullptr;
  }
  /// A copy may still use them: they stay, and the next trial has others.
  void leave() { (void)pages_.release(); }

 private:
  void renew(ContextPointer context) {
    leave();
    pages_ = std::make_unique<HostPages>(kTrialBytes);
    const Current current(context);
    if (pages_->begin() == nullptr || functions().host_register(pages_->begin(), kTrialBytes.value,
                                                                kHostRegisterPortable) != kSuccess)
      pages_.reset();
    context_ = context;
    context_id_ = id_of(context);
  }

  std::unique_ptr<HostPages> pages_;
  ContextPointer context_ = nullptr;
  std::uint64_t context_id_ = 0;
};

// Memory and a stream of one GPU.
class CheckedPlace {
 public:
  CheckedPlace(const CheckedGpu& gpu, const std::vector<Device>& users) : gpu_(gpu) {
    ignore_errors([&] { memory_ = MappedMemory::make(kTrialBytes, gpu.number, users); });
    if (!memory_) return;
    stream_ = StreamRoom::of_process().take(gpu.context);
    const Current current(gpu.context);
    if (stream_ == nullptr && functions().stream_create(&stream_, kStreamNonBlocking) != kSuccess)
      stream_ = nullptr;
  }
  CheckedPlace(const CheckedPlace&) = delete;
  CheckedPlace& operator=(const CheckedPlace&) = delete;
  // Memory that may still be in use stays.
  ~CheckedPlace() {
    if (held_) (void)memory_.release();
    else if (stream_ != nullptr) StreamRoom::of_process().give(gpu_.context, stream_);
  }

  [[nodiscard]] bool is_there() const { return memory_ != nullptr && stream_ != nullptr; }
  [[nodiscard]] DevicePointer memory() const { return memory_->base(); }
  /// Copies of the other one use its memory as well.
  void keep() { held_ = true; }

  /// True once the work that `call` enqueues has been done.
  [[nodiscard]] bool does(const std::function<Result(StreamPointer)>& call) {
    const Current current(gpu_.context);
    if (call(stream_) != kSuccess) return false;
    const auto until = std::chrono::steady_clock::now() + kTimeout;
    Result result = kNotReady;
    for (int looks = 0; (result = functions().stream_query(stream_)) == kNotReady; ++looks) {
      if (looks > kLooks && std::chrono::steady_clock::now() > until) return false;
      std::this_thread::sleep_for(kPause);
    }
    return result == kSuccess;
  }

 private:
  CheckedGpu gpu_;
  std::unique_ptr<MappedMemory> memory_;
  StreamPointer stream_ = nullptr;
  bool held_ = false;
};

class PeerCheck {
 public:
  PeerCheck(const CheckedGpu& accessing, const CheckedGpu& owner)
      : accessing_(accessing, {}),
        owner_(owner, {accessing.number}),
        host_(TrialBytes::of_process().in(owner.context)) {}

  Arrival run() {
    if (!accessing_.is_there() || !owner_.is_there() || host_ == nullptr) return Arrival::unknown;
    const Arrival written = way(accessing_, owner_, 1);
    return written == Arrival::right ? way(owner_, accessing_, 2) : written;
  }

 private:
  // The accessing GPU copies; each GPU looks at its own memory itself.
  Arrival way(CheckedPlace& from, CheckedPlace& to, unsigned seed) {
    const auto sent = trial_bytes(seed);
    const auto copy = [&](StreamPointer stream) {
      return functions().copy_between(to.memory(), from.memory(), kTrialBytes.value, stream);
    };
    if (!put(from, sent) || !put(to, trial_bytes(seed + 7)) || !accessing_.does(copy) || !get(to)) {
      accessing_.keep();
      owner_.keep();
      TrialBytes::of_process().leave();
      return Arrival::unknown;
    }
    return std::memcmp(host_, sent.data(), kTrialBytes.value) == 0 ? Arrival::right
                                                                   : Arrival::wrong;
  }
  [[nodiscard]] bool put(CheckedPlace& place, const std::vector<std::byte>& bytes) {
    std::memcpy(host_, bytes.data(), kTrialBytes.value);
    return place.does([&](StreamPointer stream) {
      return functions().copy_in(place.memory(), host_, kTrialBytes.value, stream);
    });
  }
  [[nodiscard]] bool get(CheckedPlace& place) {
    std::memset(host_, 0, kTrialBytes.value);
    return place.does([&](StreamPointer stream) {
      return functions().copy_out(host_, place.memory(), kTrialBytes.value, stream);
    });
  }

  CheckedPlace accessing_, owner_;
  unsigned char* host_;
};

}  // namespace

Arrival check_arrival(const CheckedGpu& accessing, const CheckedGpu& owner) {
  static auto& one_at_a_time = *new std::mutex;
  const std::scoped_lock lock(one_at_a_time);
  const RelaxedCapture relaxed;
  return PeerCheck(accessing, owner).run();
}

}  // namespace polypath::cuda
