#pragma once
// Memory of a collective's ranks, their inputs and outputs. The host reaches it by copies.

#include <string>
#include <vector>

#include "collective/request.h"
#include "driver/driver.h"

namespace polypath::bench {

class CollectiveMemory {
 public:
  /// Copies go through the stream.
  CollectiveMemory(Driver& driver, const CollectiveRequest& request, StreamHandle stream);
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

  void write(std::size_t memory, const Contents& contents);
  [[nodiscard]] Contents output(int rank) const;

  Driver& driver_;
  const CollectiveRequest& request_;
  std::vector<Address> addresses_;
  std::vector<Bytes> sizes_;
  StreamHandle stream_;
};

}  // namespace polypath::bench
