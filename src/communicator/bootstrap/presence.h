#pragma once
// Which ranks of another library's communicator are under Polypath on this computer, found without
// waiting.
//
// Each leaves a file before it calls the real library, which returns at no rank before all have
// called it. So what a rank sees after that all see.

#include <optional>
#include <string>

namespace polypath::communicator {

class RankPresence {
 public:
  /// `key` is the communicator's, the same at all its ranks and no others ("nccl-…"). `rank` is a
  /// number that no other rank has. Leaves this rank's file;
  /// `joins`: whether it can take part. A rank that cannot write its file counts as absent.
  RankPresence(const std::string& key, int rank, bool joins);
  /// What ranks say: the same text at all of this version that take part.
  static std::string said(bool joins);

  /// After the real library has returned: true if so many ranks have come, of this version, and all
  /// take part.
  [[nodiscard]] bool is_complete(int ranks) const;
  /// Where these ranks may meet.
  [[nodiscard]] std::string meeting() const { return folder_ + "-meeting"; }
  /// Removes it: once no rank asks any more.
  void forget() const noexcept;

 private:
  std::string folder_;  ///< empty: there is none
};

}  // namespace polypath::communicator
