#pragma once
// How a rank ends, said to another one by a connection that carries nothing else: that it ends
// well, or why it gives up. If the connection closes without a word, its process has ended.

#include <optional>
#include <string>

#include "communicator/bootstrap/deadline.h"
#include "core/descriptor.h"
#include "core/error.h"

namespace polypath::communicator {

/// The error of a rank that has ended. `rank` as of Transport::describe().
Error has_ended(const std::string& rank, const std::string& how);

/// One end of it. Not thread-safe. Nothing here waits.
class LastWords {
 public:
  LastWords() = default;
  explicit LastWords(Descriptor connection) : connection_(std::move(connection)) {}

  /// Once: none if this rank ends well.
  void say(const std::optional<Error>& failure);
  /// The problem that keeps the other rank from doing its part, as rank `own` has heard it from
  /// `other`, "rank 3 on node1".
  [[nodiscard]] std::optional<Error> failure(int own, const std::string& other);
  /// Why the other one has given up; empty if it has not, as far as is known.
  [[nodiscard]] std::string given_up();
  /// Whether the other one may still say something: for a second at most since this was first
  /// asked.
  [[nodiscard]] bool may_come();

 private:
  void listen();
  void take(const std::string& heard);

  Descriptor connection_;
  std::string heard_;
  bool has_spoken_ = false;
  bool has_ended_well_ = false;
  std::optional<Error> failure_;
  std::optional<Deadline> ended_;  ///< when it has: until when that is no failure yet
  std::optional<Deadline> awaited_;
};

}  // namespace polypath::communicator
