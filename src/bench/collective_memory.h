#pragma once
// Memory of a collective's ranks, their inputs and outputs. The host reaches it by copies.

#include <string>
#include <vector>

#include "collective/program/request.h"
#include "driver/driver.h"

namespace polypath::bench {

class CollectiveMemory {
 public:
  /// Copies go through the stream, which is one of rank 0's GPU.
  CollectiveMemory(Driver& driver, const Machine& machine, const CollectiveRequest& request,
                   StreamHandle stream);
  CollectiveMemory(const CollectiveMemory&) = delete;
  CollectiveMemory& operator=(const CollectiveMemory&) = delete;
  ~CollectiveMemory();

  /// In the order of the program's buffers.
  [[nodiscard]] const std::vector<Address>& addresses() const { return addresses_; }
  /// Writes the inputs, and into the outputs what no result is. Needs bytes that move.
  void fill();
  /// Whether every element of every output is right, and the same bits where all are alike.
  [[nodiscard]] bool is_right() const;

 private:
  using Contents = std::vector<std::byte>;

  struct Pinned {
    PlaceId place;
    Address address;
  };

  [[nodiscard]] const Pinned& host_of(std::size_t memory) const {
    return hosts_[memory % hosts_.size()];
  }
  [[nodiscard]] std::byte* pinned(std::size_t memory) const {
    return reinterpret_cast<std::byte*>(host_of(memory).address.value);
  }
  [[nodiscard]] PlaceId place_of(std::size_t memory) const;
  void write(std::size_t memory);
  [[nodiscard]] Contents output(int rank) const;

  Driver& driver_;
  const CollectiveRequest& request_;
  std::vector<Address> addresses_;
  std::vector<Bytes> sizes_;
  StreamHandle stream_;
  /// Of each rank's node, pinned memory as large as the largest of them.
  std::vector<Pinned> hosts_;
};

}  // namespace polypath::bench
