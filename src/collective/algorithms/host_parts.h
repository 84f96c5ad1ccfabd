#pragma once
// The parts of a message that each rank writes to the host and reads from it, piece by piece
// (host.cc): blocks for single ranks, which are scattered, and parts for all, which are published.
//
// Of all_reduce and reduce piece k is a range of the message, divided among the ranks that reduce;
// of reduce_scatter and all_gather it is one of each rank's part, of all_to_all one of each block.

#include <optional>
#include <vector>

#include "collective/program/request.h"

namespace polypath::collective {

class HostParts {
 public:
  /// Does not keep the request, which has to outlive it.
  HostParts(const CollectiveRequest& request, int pieces);

  /// Bytes that pieces are counted by: a rank writes no more of a piece than of so many bytes in so
  /// many pieces, for its own block is among these and stays where it is: room for what is more
  /// because blocks are cut into whole elements.
  [[nodiscard]] static Bytes most_written(const CollectiveRequest& request);

  /// Ranks have something for each of the others; ranks have something for all.
  [[nodiscard]] bool is_scattered() const;
  [[nodiscard]] bool is_published() const;
  [[nodiscard]] bool has_output(int rank) const;

  /// Where in the message that is which a rank reduces or publishes; 0 bytes if it does not.
  [[nodiscard]] Part part(int rank, int piece) const;
  /// Where it is in the rank's input, if it is published as it is, and in its output.
  [[nodiscard]] Bytes in_input(int rank, int piece) const;
  [[nodiscard]] Bytes in_output(int rank, int piece) const;
  /// The bytes that one rank sends to another: their place in the sender's input and the receiver's
  /// output.
  [[nodiscard]] Part sent(int from, int to, int piece) const;
  [[nodiscard]] Part received(int from, int to, int piece) const;

  /// The part of a rank's input that is copied unchanged to its output.
  struct Kept {
    Bytes input, output, bytes;
  };
  [[nodiscard]] std::optional<Kept> kept(int rank) const;

 private:
  [[nodiscard]] bool is(Collective collective) const { return request_.collective == collective; }
  [[nodiscard]] bool is_by_rank() const;
  [[nodiscard]] bool has_part(int rank) const;
  [[nodiscard]] Part piece_of(const Part& part, int piece) const;
  [[nodiscard]] Bytes start_of(int rank) const;

  const CollectiveRequest& request_;
  int pieces_;
  std::vector<int> owners_;  ///< the ranks that have a part
};

/// True if all ranks can read what each writes into the host's memory nearest to it.
bool reaches_through_host(const Machine& machine, const CollectiveRequest& request);
inline constexpr const char* kNotThroughHost =
    "a GPU cannot read host memory that another one writes";

}  // namespace polypath::collective
