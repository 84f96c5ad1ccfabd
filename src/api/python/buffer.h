#pragma once
// Python's view of a context: buffers and streams that keep it alive.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "api/python/rank_health.h"
#include "context/context.h"

namespace polypath::python {

using ContextPointer = std::shared_ptr<Context>;

struct Stream {
  Stream(ContextPointer used_context, const std::string& of_gpu, StreamHandle made);
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream();
  /// Error also if collectives in it have failed.
  void synchronize() const;

  ContextPointer context;
  std::string gpu;
  StreamHandle handle;
  mutable StreamUsers users{};

 private:
  void await() const;
};

struct OwnedBuffer {
  OwnedBuffer(ContextPointer used_context, const std::string& at, Bytes bytes);
  OwnedBuffer(const OwnedBuffer&) = delete;
  OwnedBuffer& operator=(const OwnedBuffer&) = delete;
  ~OwnedBuffer();
  /// A NumPy array over the bytes of `self`, which it keeps alive.
  static nanobind::object array(nanobind::handle self);

  ContextPointer context;
  std::string place;
  Bytes size;
  Address address;
};

/// The stream of a GPU of the context that a number or a Stream stands for. Error
/// (invalid_argument) for one of another context, TypeError for anything else.
StreamHandle handle_of(const ContextPointer& context, const std::string& gpu,
                       nanobind::handle stream);
StreamHandle handle_of(const ContextPointer& context, PlaceId gpu, nanobind::handle stream);

/// A GPU's name and one of its streams: a number that the program has from CUDA, or a Stream.
using StreamArgument = std::pair<std::string, nanobind::object>;

/// A destination, its source and the bytes of both, with the stream of the copy and those beside.
using CopyArgument = std::tuple<std::uintptr_t, std::uintptr_t, std::uint64_t, StreamArgument,
                                std::vector<StreamArgument>>;

/// Addresses, or bytes, of many copies.
using Words = nanobind::ndarray<const std::uint64_t, nanobind::ndim<1>, nanobind::c_contig,
                                nanobind::device::cpu>;

/// A source place, a destination place, and bytes.
using TransferArgument = std::tuple<std::string, std::string, std::uint64_t>;

/// A destination and its source.
using BufferPair = std::pair<OwnedBuffer*, OwnedBuffer*>;

/// The class Context of the Python package.
class Holder {
 public:
  Holder(const std::string& machine, bool trace);
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;

  /// Waits for the copies without a stream of the caller's. Calls after that are refused; buffers
  /// made here that still exist stay as they are.
  void close();
  /// The machine, and whether it is simulated or closed.
  [[nodiscard]] std::string describe() const;

  std::unique_ptr<OwnedBuffer> allocate(const std::string& place, std::uint64_t bytes);
  std::unique_ptr<Stream> stream(const std::string& gpu);
  std::string copy(OwnedBuffer& destination, OwnedBuffer& source,
                   std::optional<std::uint64_t> bytes, std::uint64_t destination_offset,
                   std::uint64_t source_offset, const Stream* stream, const PlanOptions& options);
  std::string copy_addresses(std::uintptr_t destination, std::uintptr_t source, std::uint64_t bytes,
                             const StreamArgument& stream,
                             const std::vector<StreamArgument>& beside);
  /// How each of them was done.
  std::vector<std::string> copy_many(const std::vector<BufferPair>& pairs, const Stream* stream,
                                     const PlanOptions& options);
  std::vector<std::string> copy_many_addresses(const std::vector<CopyArgument>& copies);
  /// Copies of one stream, as many as each of the arrays has elements. How many went each way.
  std::map<std::string, std::size_t> copy_pieces(Words destinations, Words sources, Words sizes,
                                                 const StreamArgument& stream,
                                                 const std::vector<StreamArgument>& beside);
  /// The name of the place whose memory is at the address.
  std::string place_of(std::uintptr_t address);
  bool is_pageable(std::uintptr_t address);
  /// The name of the host place that is nearest to a GPU.
  std::string nearest_host(const std::string& gpu);
  /// A dictionary of schema polypath.plan/1.
  nanobind::object plan(const std::string& source, const std::string& destination,
                        std::uint64_t bytes);
  /// Seconds that native copies take which start together; each is a source, a destination ("host"
  /// is the nearest one) and bytes.
  double predict_native(const std::vector<TransferArgument>& transfers);
  /// A dictionary of Chrome trace events.
  nanobind::object trace();
  /// Held by the caller, so that close() in another thread does not end it. Error
  /// (invalid_argument) after close().
  [[nodiscard]] ContextPointer context() const;
  bool simulated() { return context()->simulated(); }
  std::string executor() { return context()->opened().settings().executor; }
  double now() { return context()->now().value; }
  std::vector<std::string> violations() { return context()->violations(); }
  Statistics statistics() { return context()->statistics(); }

 private:
  std::shared_ptr<const Stream> own_stream(const OwnedBuffer& destination,
                                           const OwnedBuffer& source);
  GpuStream stream_of(const StreamArgument& argument);
  std::vector<GpuStream> streams_of(const std::vector<StreamArgument>& arguments);
  static void require_own(bool own);

  ContextPointer context_;
  std::map<std::string, std::shared_ptr<Stream>> own_streams_;
};

}  // namespace polypath::python
