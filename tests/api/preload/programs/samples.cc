// A measurement as nvbandwidth makes it: per GPU one stream, and samples of copies out of the GPU
// that are queued behind a hold and then let go. Before each sample a small copy the other way,
// which is waited for. preload_samples [NAME=VALUE ...]. Options: bytes, samples, copies (of each
// sample), wait (how a sample is waited for: stream, query, context, or event, which shows nothing
// of the stream), by (what holds), meanwhile (1: the small copies come while the sample runs).

#include <iterator>

#include "hold.h"

using namespace program;

namespace {

constexpr std::size_t kSmall = kMiB / 2;

class Sampler {
 public:
  explicit Sampler(int gpu)
      : bytes_(options().number("bytes", 16 * kMiB)),
        device_(memory_on(gpu, bytes_)),
        small_(memory_on(gpu, kSmall)) {
    use(gpu);
    stream_ = stream_on(gpu);
    beside_ = stream_on(gpu);
    CHECK(cuEventCreate(&end_, 0));
  }

  void sample() {
    const bool meanwhile = options().number("meanwhile", 0) != 0;
    if (!meanwhile) small_copy();
    Hold hold(usual_hold(By::function));
    hold.in(stream_);
    for (std::size_t i = options().number("copies", 20); i > 0; --i)
      CHECK(cuMemcpyDtoHAsync_v2(host_, device_, bytes_, stream_));
    CHECK(cuEventRecord(end_, stream_));
    if (meanwhile) small_copy();
    hold.release();
    wait();
  }

 private:
  void small_copy() {
    CHECK(cuMemcpyHtoDAsync_v2(small_, small_host_, kSmall, beside_));
    CHECK(cuStreamSynchronize(beside_));
  }
  void wait() const {
    const std::string way = options().text("wait", "stream");
    if (way == "stream") return CHECK(cuStreamSynchronize(stream_));
    if (way == "context") return CHECK(cuCtxSynchronize());
    CHECK(cuEventSynchronize(end_));
    if (way == "query") CHECK(cuStreamQuery(stream_));
  }

  std::size_t bytes_;
  CUdeviceptr device_, small_;
  void* host_ = pinned(bytes_);
  void* small_host_ = pinned(kSmall);
  CUstream stream_ = nullptr, beside_ = nullptr;
  CUevent end_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) options().read(argv[i]);
  CHECK(cuInit(0));
  for (const int gpu : {0, 1}) {
    Sampler sampler(gpu);
    for (std::size_t i = options().number("samples", 3); i > 0; --i) sampler.sample();
  }
  return 0;
}
