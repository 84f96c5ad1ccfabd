#pragma once
// Who does things in a random program: threads that call the driver, contexts and streams; and how
// one thing is made to wait for another.

#include <memory>

#include "random_streams.h"

namespace program {

/// Bytes that something reads or writes.
struct Access {
  Buffer* buffer;
  std::size_t offset, bytes;
  bool writes;
};

class Actors {
 public:
  Actors(Chance& chance, int gpus, std::size_t threads) : chance_(chance), gpus_(gpus) {
    for (std::size_t i = 0; i < threads; ++i) workers_.push_back(std::make_unique<Worker>());
    for (int gpu = 0; gpu < gpus; ++gpu) add_gpu(gpu);
  }

  [[nodiscard]] int gpus() const { return gpus_; }
  int any_gpu() { return static_cast<int>(chance_.below(static_cast<std::size_t>(gpus_))); }
  [[nodiscard]] CUcontext context(int gpu) const {
    return contexts_[static_cast<std::size_t>(gpu)];
  }
  [[nodiscard]] unsigned long long codes() const { return codes_.value(); }
  /// A line per call that the driver refused, for readers.
  [[nodiscard]] const std::string& refused() const { return refused_; }

  /// Calls the driver in any thread, or in the one whose stream it is.
  template <class Function>
  CUresult call(int gpu, const Function& function) {
    return call_by(chance_.below(workers_.size()), gpu, function);
  }
  template <class Function>
  CUresult call_in(const Stream& stream, const Function& function) {
    if (stream.kind != StreamKind::per_thread) return call(stream.gpu, function);
    return call_by(stream.thread, stream.gpu, function);
  }

  Stream& any_stream() {
    for (;;) {
      Stream& stream = streams_.all()[chance_.below(streams_.all().size())];
      if (!stream.destroyed) return stream;
    }
  }
  Stream& any_stream_of(int gpu) {
    for (;;) {
      Stream& stream = any_stream();
      if (stream.gpu == gpu) return stream;
    }
  }
  void add_stream(int gpu, StreamKind kind) {
    CUstream handle = nullptr;
    const unsigned flags = kind == StreamKind::non_blocking ? 1 : 0;
    if (call(gpu, [&] { return cuStreamCreate(&handle, flags); }) != 0) return;
    trace("create %s\n", streams_.add(kind, gpu, handle).name().c_str());
  }
  /// What is in it still runs to its end.
  void destroy(Stream& stream) {
    stream.end = record(stream);
    trace("destroy %s\n", stream.name().c_str());
    call(stream.gpu, [&] { return cuStreamDestroy_v2(stream.handle); });
    stream.destroyed = true;
  }

  /// What the next thing in the stream touches is free by then.
  void order(Stream& stream, const std::vector<Access>& accesses) {
    for (const Access& access : accesses)
      for (const Moment& moment : in_the_way(access, streams_.next(stream)))
        if (!streams_.next(stream).covers(moment)) let_wait(stream, streams_.of(moment.queue));
  }
  /// The program itself may touch it.
  void order(const Access& access) {
    for (const Moment& moment : in_the_way(access, streams_.host()))
      if (!streams_.host().covers(moment)) wait_for(streams_.of(moment.queue));
  }
  /// The next thing has gone into the stream.
  void enqueued(Stream& stream, const std::vector<Access>& accesses) {
    const Moment moment = streams_.enqueue(stream);
    for (const Access& access : accesses) {
      access.buffer->touches.touch(access.offset, access.offset + access.bytes, access.writes,
                                   moment);
      trace("%s %s %zu bytes of %s at %llx\n", stream.name().c_str(),
            access.writes ? "writes" : "reads", access.bytes, access.buffer->name().c_str(),
            access.buffer->address + access.offset);
    }
  }
  /// The stream's last thing is over for the program.
  void finished(const Stream& stream) { streams_.synchronized(stream.last); }

  /// The program waits for what is in the stream.
  void wait_for(Stream& stream) {
    const std::size_t how = stream.destroyed ? 5 : chance_.below(6);
    if (how == 0) return synchronize_context(stream.gpu);
    if (how < 3) return synchronize(stream);
    const CUevent event = stream.destroyed ? stream.end : record(stream);
    trace("synchronize with an event of %s\n", stream.name().c_str());
    call(any_gpu(), [&] { return cuEventSynchronize(event); });
    streams_.synchronized(stream.recorded);
    if (!stream.destroyed) destroy(event);
  }
  void synchronize(Stream& stream) {
    trace("synchronize %s\n", stream.name().c_str());
    call_in(stream, [&] { return cuStreamSynchronize(stream.handle); });
    streams_.synchronized(stream);
  }
  void synchronize_context(int gpu) {
    trace("synchronize GPU %d\n", gpu);
    call(gpu, [] { return cuCtxSynchronize(); });
    streams_.context_synchronized(gpu);
  }
  void let_wait(Stream& later, Stream& earlier) {
    if (chance_.one_in(4)) return wait_for(earlier);
    const CUevent event = earlier.destroyed ? earlier.end : record(earlier);
    trace("let %s wait for an event of %s\n", later.name().c_str(), earlier.name().c_str());
    call_in(later, [&] { return cuStreamWaitEvent(later.handle, event, 0); });
    streams_.wait(later, earlier.recorded);
    if (!earlier.destroyed) destroy(event);
  }

 private:
  void add_gpu(int gpu) {
    contexts_.push_back(context_of(gpu));
    streams_.add(StreamKind::legacy, gpu, nullptr);
    for (std::size_t thread = 0; thread < workers_.size(); ++thread)
      streams_.add(StreamKind::per_thread, gpu, reinterpret_cast<CUstream>(2), thread);
    for (const StreamKind kind :
         {StreamKind::blocking, StreamKind::non_blocking, StreamKind::non_blocking})
      add_stream(gpu, kind);
  }

  template <class Function>
  CUresult call_by(std::size_t thread, int gpu, const Function& function) {
    CUresult result = 0;
    workers_[thread]->run([&] {
      CHECK(cuCtxSetCurrent(context(gpu)));
      result = function();
    });
    codes_.add(result);
    ++calls_;
    if (result != 0)
      refused_ += "# call " + std::to_string(calls_) + ": " + std::to_string(result) + "\n";
    return result;
  }

  static std::vector<Moment> in_the_way(const Access& access, const Clock& clock) {
    return access.buffer->touches.in_the_way(access.offset, access.offset + access.bytes,
                                             access.writes, clock);
  }

  /// Also what the stream waits for only because of the default stream.
  CUevent record(Stream& stream) {
    CUevent event = nullptr;
    call(stream.gpu, [&] { return cuEventCreate(&event, 2); });
    call_in(stream, [&] { return cuEventRecord(event, stream.handle); });
    stream.recorded = streams_.next(stream);
    return event;
  }
  void destroy(CUevent event) {
    call(any_gpu(), [&] { return cuEventDestroy_v2(event); });
  }

  Chance& chance_;
  int gpus_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<CUcontext> contexts_;
  Streams streams_;
  Digest codes_;
  std::size_t calls_ = 0;
  std::string refused_;
};

}  // namespace program
