#pragma once
// The allocations of the other ranks of a node, as this one imports and releases them. Internal to
// shared_allocations.h, which says what that is for.

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "communicator/node/handle_board.h"
#include "driver/driver.h"

namespace polypath::collective {

/// Not thread-safe.
class ImportedAllocations {
 public:
  /// `gpu` is this rank's; `handles` outlive it.
  ImportedAllocations(Driver& driver, PlaceId gpu, HandleBoard& handles)
      : driver_(driver), gpu_(gpu), handles_(handles) {}
  ImportedAllocations(const ImportedAllocations&) = delete;
  ImportedAllocations& operator=(const ImportedAllocations&) = delete;
  /// Nothing that is queued may use what was imported.
  ~ImportedAllocations();

  /// Notes what the others have exported and taken back since the last call.
  void hear_news();
  /// Imports what is new.
  void import_new();
  /// Releases what was taken back and is used no more.
  void release_gone();

  // These as SharedAllocations has them.
  [[nodiscard]] std::optional<Address> find(int rank, std::uint64_t word);
  void note_use(std::function<bool()> is_idle, const std::function<bool()>& is_done);

  /// True if all work has ended that was noted.
  [[nodiscard]] bool is_idle() const { return !is_idle_ || is_idle_(); }
  [[nodiscard]] bool empty() const { return imported_.empty(); }
  /// True between find() and note_use().
  [[nodiscard]] bool in_call() const { return !found_.empty(); }

 private:
  struct Import {
    Address address;
    bool may_wait = true;                  ///< releasing it may block until all queued work is done
    std::function<bool()> is_unused = {};  ///< none: it is when all work has ended
  };
  using Source = std::pair<int, int>;  ///< a rank, and a number on its board

  void take(const HandleBoard::Update& news);
  [[nodiscard]] bool may_release(const HandleBoard::Update& news) const;
  void release(const HandleBoard::Update& news);

  Driver& driver_;
  PlaceId gpu_;
  HandleBoard& handles_;
  std::map<Source, Import> imported_;
  std::vector<Source> found_;             ///< since the last use was noted
  std::deque<HandleBoard::Update> news_;  ///< of memory that is not imported yet
  std::deque<HandleBoard::Update> gone_;  ///< and not yet released
  std::function<bool()> is_idle_;
};

}  // namespace polypath::collective
