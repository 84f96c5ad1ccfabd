#pragma once
// Memory of other processes that the program has mapped into this one (CUDA IPC).
//
// Two things are different about it. CUDA's answer for such an address names the GPU in whose
// context it was mapped, not the GPU that has the bytes: a caller that knows the owner states it
// here. And a mapping serves the copies of its own context: a copy that another GPU makes crosses
// the links twice, or fails. So each context that copies gets a mapping of its own, opened when
// first used.
//
// A second mapping must never show other bytes than the program's own one. It is opened only while
// `still_exported` holds, before and after, and is closed before the program's own is, after the
// last copy that uses it. `changes` tells code that keeps addresses that they may mean something
// else.

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "driver/cuda/cuda_types.h"
#include "driver/driver.h"

namespace polypath::cuda {

/// In place of the GPU that has the memory: it is unknown, or this process does not see it.
constexpr int kOwnerUnknown = -1;
constexpr int kOwnerHidden = -2;

/// CUDA's number of the memory at an address, never given twice; zero if there is none.
std::uint64_t id_of_memory(Address address);

/// One mapping that the program made.
struct ImportedMemory {
  Address base;
  Bytes size;
  IpcHandle handle;
  ContextPointer context = nullptr;  ///< where it was mapped
  int owner = kOwnerUnknown;         ///< the GPU that has the bytes, by number in this process
  std::uint64_t id = 0;  ///< CUDA's number of the mapping, never given twice; 0: unknown
  bool of_all = false;   ///< mapped for the contexts of all GPUs that reach it
};

/// A mapping of our own beside the program's.
class SecondMapping {
 public:
  /// Opens it. Error (driver) if that fails.
  SecondMapping(const IpcHandle& handle, ContextPointer context);
  SecondMapping(const SecondMapping&) = delete;
  SecondMapping& operator=(const SecondMapping&) = delete;
  /// Waits for the work that used it, then closes it.
  ~SecondMapping();

  [[nodiscard]] Address base() const { return base_; }
  /// Work just put into the stream uses it. The stream's context must be current.
  void note_use(StreamHandle stream);
  /// Its context is gone, and the mapping with it.
  void abandon();

 private:
  using Queue = std::pair<std::uintptr_t, std::uintptr_t>;  ///< a stream, and whose it is

  [[nodiscard]] bool wait_for_uses();

  /// The last use by a queue, and where the event belongs.
  struct Use {
    EventPointer event = nullptr;
    ContextPointer context = nullptr;
    std::uint64_t context_id = 0;
  };

  [[nodiscard]] bool are_alive() const;

  ContextPointer context_;
  std::uint64_t context_id_;
  Address base_;
  std::mutex mutex_;
  std::map<Queue, Use> uses_;
  bool lost_ = false;  ///< something that uses it cannot be waited for: it stays open
};

/// An address as a copy in some context must use it.
struct Reached {
  Address address;
  std::shared_ptr<SecondMapping> mapping;  ///< null: the address is the program's own
};

/// Thread-safe.
class Imports {
 public:
  /// Whether the exporting process still has the allocation that was imported.
  using Check = std::function<bool()>;

  Imports() = default;
  Imports(const Imports&) = delete;
  Imports& operator=(const Imports&) = delete;

  /// This process's, never destroyed. Mappings belong to a process, and are made before any driver
  /// object is needed.
  static Imports& of_process();

  /// The program has mapped memory. Mapping the same again in the same context gives the same
  /// address: it stays until it has been removed as often. If that comes with other facts, the
  /// owner counts as unknown.
  void add(const ImportedMemory& memory, Check still_exported);
  /// The program is about to unmap what begins at `base`: its second mappings are closed, after all
  /// work that uses them. Nothing happens if it is unknown.
  void remove(Address base);
  /// Asks CUDA whether the mappings in a range still are what they were. One ends with its context
  /// without a word, and its addresses go to other memory: then it is forgotten.
  void forget_ended(Address begin, Bytes bytes);
  /// The import that contains the address.
  [[nodiscard]] std::optional<ImportedMemory> find(Address address) const;
  /// The address as a copy in `context` must use it: unchanged if it is no import or was mapped
  /// there. Opens a mapping where there is none. Error (driver) if that cannot be done, now or
  /// before; (unsupported) if the allocation is no longer exported.
  [[nodiscard]] Reached reach(Address address, ContextPointer context);
  /// True if reach() would open nothing.
  [[nodiscard]] bool is_reached(Address address, ContextPointer context) const;
  /// False once a second mapping of it has failed.
  [[nodiscard]] bool mappable(Address address) const;
  /// Grows whenever an address may have come to mean something else.
  [[nodiscard]] std::uint64_t changes() const { return changes_.load(std::memory_order_acquire); }
  [[nodiscard]] bool empty() const { return count_.load(std::memory_order_acquire) == 0; }
  /// Contexts are about to be destroyed, and mappings with them: gives up every second mapping
  /// without touching the driver, and counts every owner as unknown.
  void abandon();

 private:
  using Mappings = std::map<ContextPointer, std::shared_ptr<SecondMapping>>;
  struct Entry {
    ImportedMemory memory;
    Check still_exported;
    int openings = 1;
    bool failed = false;
    Mappings mappings;
  };

  [[nodiscard]] std::optional<Reached> reached(Address address, ContextPointer context);
  void note_failure(const ImportedMemory& memory);

  mutable std::mutex mutex_;
  std::map<Address, Entry> entries_;
  std::atomic<std::size_t> count_{0};
  std::atomic<std::uint64_t> changes_{0};
};

}  // namespace polypath::cuda
