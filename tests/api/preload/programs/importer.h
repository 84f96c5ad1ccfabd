#pragma once
// The program that maps the memory of another one, which tells it what to do.

#include <sys/types.h>
#include <unistd.h>

#include "pair.h"

namespace program {

constexpr std::size_t kBytes = 64 * kMiB + 8192 + 7;

// What the exporter asks for, one after another.
enum class Order { open, close, get, put, open_on_third, done };

struct Request {
  Order order;
  std::uint64_t seed = 0;
  std::size_t offset = 0;
  CUipcMemHandle handle{};
};

// The importer's part.
class Importer {
 public:
  explicit Importer(int gpu) : gpu_(gpu), stream_(stream_on(gpu)), own_(memory_on(gpu, kBytes)) {}

  void serve() {
    for (Request request = hear<Request>(); request.order != Order::done;
         request = hear<Request>()) {
      carry_out(request);
      tell('k');
    }
  }

  /// Two orders, of which the second comes from somebody who is gone when it is carried out.
  void serve_orphaned() {
    carry_out(hear<Request>());
    tell('k');
    const Request last = hear<Request>();
    while (getppid() == exporter_) usleep(1000);
    carry_out(last);
  }

 private:
  void carry_out(const Request& request) {
    use(gpu_);
    switch (request.order) {
      case Order::open: CHECK(cuIpcOpenMemHandle_v2(&mapped_, request.handle, 1)); break;
      case Order::open_on_third: {
        use(2);
        CUdeviceptr again = 0;
        CHECK(cuIpcOpenMemHandle_v2(&again, request.handle, 1));
        break;
      }
      case Order::close: CHECK(cuIpcCloseMemHandle(mapped_)); break;
      case Order::get: get(request); break;
      case Order::put: put(request); break;
      case Order::done: break;
    }
  }

  void get(const Request& request) {
    const std::size_t bytes = kBytes - request.offset;
    CHECK(cuMemcpyDtoDAsync_v2(own_, mapped_ + request.offset, bytes, stream_));
    CHECK(cuStreamSynchronize(stream_));
    auto expected = pattern(kBytes, request.seed);
    expected.erase(expected.begin(),
                   expected.begin() + static_cast<std::ptrdiff_t>(request.offset));
    EXPECT(program::read(own_, bytes) == expected);
  }

  void put(const Request& request) {
    program::write(own_, pattern(kBytes, request.seed));
    use(gpu_);
    CHECK(cuMemcpyDtoDAsync_v2(mapped_ + request.offset, own_ + request.offset,
                               kBytes - request.offset, stream_));
    CHECK(cuStreamSynchronize(stream_));
  }

  pid_t exporter_ = getppid();
  int gpu_;
  CUstream stream_;
  CUdeviceptr own_;
  CUdeviceptr mapped_ = 0;
};

}  // namespace program
