#pragma once
// The simulated driver's streams.

#include <map>

#include "driver/sim/simulation.h"

namespace polypath::sim {

struct SimStream {
  PlaceId gpu;
  ActivityPointer tail;
  std::size_t thread = 0;  ///< of the order of things
  bool waited = false;     ///< since the last copy
};

/// The functions are those of Driver with the same names.
class SimStreams {
 public:
  explicit SimStreams(Simulation& simulation);

  StreamHandle create(PlaceId gpu);
  void destroy(StreamHandle stream);
  void synchronize(StreamHandle stream);
  /// Those that were not destroyed, without the default stream.
  [[nodiscard]] std::size_t count() const { return streams_.size() - 1; }

  /// Error (invalid_argument) if there is none.
  [[nodiscard]] SimStream& at(StreamHandle stream);
  /// What the threads write without a stream.
  [[nodiscard]] SimStream& signals() { return signals_; }
  /// Error (invalid_argument) if the stream belongs to another GPU than the working one.
  void check_gpu(StreamHandle stream, PlaceId gpu, const char* what);
  /// Work of the stream, which starts after what is in it.
  void append(const ActivityPointer& activity, SimStream& stream);

 private:
  Simulation& simulation_;
  std::map<StreamHandle, SimStream> streams_;
  SimStream signals_;
};

}  // namespace polypath::sim
