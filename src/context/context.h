#pragma once
// Everything a program needs for copies on one machine: the driver, the engine, its streams.

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "context/open.h"

namespace polypath::context {

/// A stream of a GPU, made by this context or by the program.
struct GpuStream {
  std::string gpu;
  StreamHandle handle;
};

/// One of several copies: on `stream`, and in order with the streams `beside` it.
struct OrderedCopy {
  GpuStream stream;
  std::vector<GpuStream> beside = {};
  Address destination;
  Address source;
  Bytes bytes;
  PlanOptions options = {};
};

/// One of many copies on one stream.
struct Piece {
  Address destination;
  Address source;
  Bytes bytes;
};

/// Thread-safe. Memory and objects that were made through it and not given back go with it.
class Context {
 public:
  /// On a machine that has just been opened. Its timeline is there if the simulation records it.
  explicit Context(OpenMachine opened);
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context();

  /// Memory at a place ("gpu0"; "host" is the first one): device memory or pinned host memory.
  Address allocate(const std::string& place, Bytes bytes);
  /// Waits for all work on the context's streams, then frees what allocate returned.
  void free(Address address);
  /// A stream of a GPU.
  StreamHandle create_stream(const std::string& gpu);
  /// Waits for the stream's work, then destroys it.
  void destroy_stream(StreamHandle stream);
  /// Blocks until the stream's work has finished.
  void synchronize(StreamHandle stream);
  /// Enqueues a copy as Engine::copy does.
  CopyResult copy(Address destination, Address source, Bytes bytes, StreamHandle stream,
                  const PlanOptions& options = {});
  /// The plan for a copy between two places on the idle machine; "host" is the one nearest to the
  /// GPU at the other end.
  PlanPointer plan(const std::string& source, const std::string& destination, Bytes bytes,
                   const PlanOptions& options = {});
  /// A stream that the caller has from CUDA or a library on it, default streams included.
  /// Error (unsupported) on a simulated machine.
  [[nodiscard]] StreamHandle foreign_stream(const std::string& gpu, std::uintptr_t stream);
  [[nodiscard]] StreamHandle foreign_stream(PlaceId gpu, std::uintptr_t stream);
  /// The place and memory at the address. Error (invalid_argument) if it is unknown.
  [[nodiscard]] MemoryInfo memory_at(Address address);
  /// Enqueues a copy on a stream of `gpu` that the context did not create.
  CopyResult copy_on(const std::string& gpu, StreamHandle stream, Address destination,
                     Address source, Bytes bytes, const PlanOptions& options = {});
  /// A stream of CUDA's own (CUstream), or a default stream of the current context. Errors:
  /// unsupported on a simulated machine; invalid_argument if it is in no GPU's primary context.
  [[nodiscard]] GpuStream adopt_stream(std::uintptr_t stream);
  /// The same, in order with more streams than its own: it also starts after what is in each of
  /// `beside`, and ends before what comes next there. Streams that are not part of a capture that
  /// the copy is part of are left out, because a graph cannot wait for other work.
  CopyResult copy_beside(const GpuStream& stream, const std::vector<GpuStream>& beside,
                         Address destination, Address source, Bytes bytes);
  /// Enqueues copies that start together as Engine::copy_many does, each in order with the streams
  /// beside its own as copy_beside does. Where there are such streams and the copies depend on each
  /// other, they are made one after another.
  std::vector<CopyResult> copy_many(const std::vector<OrderedCopy>& copies,
                                    std::size_t* enqueued = nullptr);
  /// The same for copies on one stream, which is in order with those `beside` it once for all.
  std::vector<CopyResult> copy_pieces(const GpuStream& stream, const std::vector<GpuStream>& beside,
                                      std::span<const Piece> pieces,
                                      std::size_t* enqueued = nullptr);
  /// Seconds on the machine's clock, from its opening: virtual time if it is simulated.
  Seconds now();
  /// The copies finished so far. Waits for all queued work. Error (invalid_argument) if the
  /// simulation does not record them.
  std::vector<sim::Span> trace();
  /// Races and other misuse that the simulated driver has found.
  [[nodiscard]] std::vector<std::string> violations() const;

  [[nodiscard]] Statistics statistics() const { return engine_->statistics(); }
  /// The driver below the context, for callers that do more there than copies. It goes with the
  /// context.
  [[nodiscard]] const OpenMachine& opened() const { return opened_; }
  [[nodiscard]] const Machine& machine() const { return opened_.machine(); }
  [[nodiscard]] bool simulated() const { return opened_.simulated(); }

 private:
  [[nodiscard]] PlaceId gpu_of(StreamHandle stream);
  void order(const GpuStream& earlier, const GpuStream& later);
  [[nodiscard]] std::vector<GpuStream> waiting_beside(const GpuStream& stream,
                                                      const std::vector<GpuStream>& beside);

  OpenMachine opened_;
  Driver& driver_;
  std::unique_ptr<Engine> engine_;
  std::mutex mutex_;
  std::map<StreamHandle, PlaceId> streams_;
  std::map<Address, PlaceId> allocations_;
};

}  // namespace polypath::context
