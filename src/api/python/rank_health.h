#pragma once
// Whether a rank's calls go well, for callers that wait for a stream with those calls. After an
// abort streams end, too, but the contents are undefined.

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "communicator/communicator.h"
#include "core/error.h"

namespace polypath::python {

/// Thread-safe. It outlives the rank, whose last error it keeps.
class RankHealth {
 public:
  /// From now on it is that of this communicator, until end().
  void begin(Communicator& communicator);
  /// The rank has ended: well, or by an error that every caller still waiting is told.
  void end(std::optional<Error> problem);
  /// Error if something has failed.
  void check();
  /// Gives all up, if it has not ended.
  void abort(const std::string& why);
  /// False once there is nothing more to be said.
  [[nodiscard]] bool may_fail();
  /// True if the program has been told by a call, and goes on nevertheless. A program that only
  /// waited for results may not have looked.
  [[nodiscard]] bool is_known();
  /// Notes that the program gets an error from a call, if it is the end of the group.
  void note_told();

 private:
  std::mutex mutex_;
  Communicator* communicator_ = nullptr;
  std::optional<Error> problem_;
  bool is_known_ = false;
};

/// The ranks that have calls in one stream. Thread-safe.
class StreamUsers {
 public:
  void add(const std::shared_ptr<RankHealth>& user);
  /// Error if one of them has failed.
  void check();
  [[nodiscard]] bool empty();

 private:
  std::mutex mutex_;
  std::vector<std::shared_ptr<RankHealth>> users_;
};

}  // namespace polypath::python
