#pragma once
// Allocations of the callers' own that the ranks of a node open to each other.
//
// An allocation that is used repeatedly is exported, and the other ranks import it at their next
// call (communicator/node/handle_board.h). It is known by the driver's number of it, which is asked
// for at every call: memory that was freed and allocated again at the same address is another
// allocation. Memory at virtual addresses may lie in many mappings (20 MiB each in PyTorch's
// expandable segments), each with a number of its own: those that a call uses count as one
// allocation. Two of these may overlap. A freed allocation is taken back, and the other ranks
// release their import of it once none of their queued work can use it. Until then the driver keeps
// the memory (results/h200x1/mappings.json). Ranks look at it at their calls; ranks that have made
// none for a second have a thread look. A program that finds no room waits for that.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "collective/rank/imported_allocations.h"
#include "collective/rank/own_allocations.h"
#include "communicator/node/handle_board.h"
#include "communicator/watcher.h"
#include "core/brief_mutex.h"
#include "driver/driver.h"

namespace polypath::collective {

/// One thread makes calls.
class SharedAllocations {
 public:
  /// `gpu` is this rank's.
  SharedAllocations(Driver& driver, PlaceId gpu, HandleBoard handles);
  SharedAllocations(const SharedAllocations&) = delete;
  SharedAllocations& operator=(const SharedAllocations&) = delete;
  /// Nothing that is queued may use what was imported.
  ~SharedAllocations();
  /// For one that is kept for ever, because queued work may use what was imported: threads look at
  /// it no more, so that what it was given may end.
  void abandon();

  // --- this rank's own ---

  /// What the other ranks know an address by, from which on a call uses some bytes; 0 of address 0.
  /// None if they have not imported all of these: `waits` is true then if they may soon. It is
  /// exported once it was asked for a few times, or `at_once`: then by itself, as graphs need it,
  /// even if it lies in a wider range that is exported.
  std::optional<std::uint64_t> encode(Address address, Bytes bytes, bool at_once, bool& waits);
  /// Takes one allocation back if it was freed: another one at each call.
  void look_at_one();
  /// Takes all of them back.
  void close();
  /// Takes back all allocations of this process that were freed. False if the other ranks have
  /// released what was taken back by now.
  static bool take_back_freed();

  // --- the others' ---

  /// Imports what they have exported since the last call, and releases what they have taken back.
  /// Nothing is released while something is `captured`.
  void take_in(bool captured);
  /// What another rank knows by `word`, as this one reaches it.
  [[nodiscard]] std::optional<Address> find(int rank, std::uint64_t word);
  /// Work that uses what was found since the last call: `is_done` says when it has ended, `is_idle`
  /// when all work of this rank has.
  void note_use(std::function<bool()> is_idle, const std::function<bool()>& is_done = {});

 private:
  class Looker;

  void watch();
  void look_while_idle();
  [[nodiscard]] bool take_back_freed_own();

  HandleBoard handles_;
  OwnAllocations own_;
  ImportedAllocations others_;
  BriefMutex mutex_;
  std::chrono::steady_clock::time_point last_call_ = {};
  std::shared_ptr<Watcher> watcher_;  ///< once something is open
  std::shared_ptr<Looker> looker_;
  int generation_;
};

}  // namespace polypath::collective
